"""Our hardware nodes and build flow inside FINN (finn-plus, extra `finn`).

`finn_resnet.finn.steps` holds the steps of a FINN build. Nothing here imports FINN before a step
runs, and nothing else in `finn_resnet` imports this package.
"""
