# An image with the program, which needs nothing else, and three empty folders. Build the programs first:
#
#	task cross
#	docker build --tag ptyctl .
#	docker run --interactive --rm ptyctl
#
# It serves MCP on its standard streams. For HTTP give it a token and a port, or use packaging/compose, with TLS:
#
#	docker run --rm --publish 127.0.0.1:8765:8765 --env PTYCTL_SERVER_HTTP_AUTH_TOKEN ptyctl mcp --transport http --listen 0.0.0.0:8765
FROM scratch
ARG TARGETARCH=amd64
COPY build/ptyctl-linux-${TARGETARCH} /ptyctl
COPY LICENSE NOTICE /
# /tmp, and the user's home and runtime folder, where the control socket and the locks of devices are.
ADD build/image-folders.tar /
# No file names this user, so its name and home are set here. Mount the files that ptyctl must know (known_hosts,
# ssh_config, keys) at /home/.ssh.
ENV USER=ptyctl
ENV HOME=/home
ENV XDG_RUNTIME_DIR=/run/ptyctl
USER 65532:65532
EXPOSE 8765
ENTRYPOINT ["/ptyctl"]
CMD ["mcp", "--transport", "stdio"]
