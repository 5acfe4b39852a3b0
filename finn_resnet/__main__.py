"""`python -m finn_resnet` is the command `finn-resnet`."""

from finn_resnet.cli import main

if __name__ == "__main__":
    main()
