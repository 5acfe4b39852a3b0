"""What a vendor's tools say of a build, against the cost model and back into its coefficients."""

from finn_resnet.calibration.calibrate import Calibration, calibrate, find_reports

__all__ = ["Calibration", "calibrate", "find_reports"]
