"""The commands of `finn-resnet`, one module each; they import what they need when they run."""
