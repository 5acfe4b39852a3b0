# The package and a C++ compiler; nothing of a vendor.
#   docker build -t finn_resnet .
#   docker run --rm -v "$PWD:/work" finn_resnet build resnet8 --board KV260
FROM python:3.11-slim
RUN apt-get update && apt-get install -y --no-install-recommends g++ && rm -rf /var/lib/apt/lists/*
COPY . /src
RUN pip install --no-cache-dir /src && rm -rf /src
WORKDIR /work
ENTRYPOINT ["finn-resnet"]
