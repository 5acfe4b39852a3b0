"""From a generated project to the board: vendor scripts, checks of their input, PYNQ driver."""

from finn_resnet.deploy.deploy_folder import write_deploy_folder
from finn_resnet.deploy.scripts import write_scripts

__all__ = ["write_deploy_folder", "write_scripts"]
