"""`finn-resnet deploy`: the accelerator of a build, on its board."""

from __future__ import annotations

import click

from finn_resnet.commands.terminal import display_options, fail_result, print_json
from finn_resnet.errors import UserError


@click.command()
@click.argument("output_dir", metavar="OUTPUT_DIR")
@click.option("--host", required=True, metavar="USER@BOARD", help="The board, as for ssh.")
@click.option("--folder", help="Folder on the board.  [finn_resnet_deploy]")
@click.option("--python", help="Command on the board that runs the driver.  [sudo -E python3]")
@display_options
def deploy(output_dir: str, host: str, as_json: bool, **options: str | None) -> int:
    """Copy deploy/ of a build to a PYNQ board, run the test vectors there and measure.

    The bitstream must have been made (make bitstream in hls/). ssh and scp are your own, with your
    keys. The driver prints how many codes differ and the frames/s; the exit code is 1 where a code
    differs.
    """
    from finn_resnet.deploy.remote import deploy_to_board

    given = {key: options[key] for key in ("folder", "python") if options[key] is not None}
    status = deploy_to_board(output_dir, host, **given)
    if as_json:
        print_json({"host": host, "status": status})
    if status == 1:
        return fail_result(f"codes of the accelerator on {host} differ from the model")
    if status:
        raise UserError(f"the driver on {host} stopped; its line above says why")
    return 0
