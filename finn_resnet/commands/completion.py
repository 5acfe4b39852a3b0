"""`finn-resnet completion`: completion of commands and options in a shell."""

from __future__ import annotations

import click

from finn_resnet.commands.terminal import display_options


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@display_options
@click.pass_context
def completion(ctx: click.Context, shell: str, **_display: bool) -> None:
    """Print the completion script of a shell.

    \b
    bash, in ~/.bashrc:                     eval "$(finn-resnet completion bash)"
    zsh, in ~/.zshrc:                       eval "$(finn-resnet completion zsh)"
    fish, in ~/.config/fish/config.fish:    finn-resnet completion fish | source
    """
    from click.shell_completion import get_completion_class

    script = get_completion_class(shell)
    program = ctx.find_root().command
    click.echo(script(program, {}, "finn-resnet", "_FINN_RESNET_COMPLETE").source())
