"""The proof by execution: codes of the generated C++ against the original model's."""

from finn_resnet.verification.verify import Mismatch, Verification, to_pictures, verify_project

__all__ = ["Mismatch", "Verification", "to_pictures", "verify_project"]
