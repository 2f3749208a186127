# Builds from a plain Debian: docker build -t folkmoot . && docker run -p 127.0.0.1:7400:7400 -v folkmoot:/data folkmoot
# docs/install.md says how tokens get in, and what the jail needs.

FROM debian:bookworm-slim AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates curl gcc libc6-dev \
 && rm -rf /var/lib/apt/lists/*
# The compiler that rust-toolchain.toml names, without what only checks need.
ENV RUSTUP_HOME=/opt/rust RUSTUP_TOOLCHAIN=1.95.0 CARGO_HOME=/opt/rust PATH=/opt/rust/bin:$PATH
RUN curl --proto '=https' --tlsv1.2 -sSf https://static.rust-lang.org/rustup/rustup-init.sh -o /tmp/rustup.sh \
 && sh /tmp/rustup.sh -y --no-modify-path --profile minimal --default-toolchain "$RUSTUP_TOOLCHAIN" \
 && rm /tmp/rustup.sh
WORKDIR /src
COPY . .
RUN cargo build --locked --profile dist --features otel -p folkmoot \
 && install -D target/dist/folkmoot /out/usr/bin/folkmoot \
 && /out/usr/bin/folkmoot man /out/usr/share/man/man1

FROM debian:bookworm-slim
# Certificates for models, webhooks and databases; git and python3 for what agents do. Leave those out if yours do not.
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates git python3-minimal \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 7400 --user-group --home-dir /data --shell /usr/sbin/nologin folkmoot \
 && install -d -m 0700 -o folkmoot -g folkmoot /data
COPY --from=build /out/ /
USER 7400:7400
ENV FOLKMOOT_DATA=/data FOLKMOOT_LISTEN=0.0.0.0:7400
VOLUME /data
EXPOSE 7400
# It ends by itself on SIGTERM, after it has answered what it was asked.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=6s --start-period=10s CMD ["folkmoot", "ready"]
ENTRYPOINT ["folkmoot"]
CMD ["serve"]
