// Command bundle packs built programs for users who install MCP servers by a click. It
// makes an MCP bundle (.mcpb) for each platform, and the server.json that names them for
// the MCP registry.
//
//	go run ./scripts/bundle -version 0.1.0 -out build/dist \
//		-url https://github.com/OWNER/ptyctl/releases/download/v0.1.0 \
//		linux-amd64=build/ptyctl-linux-amd64 windows-amd64=build/ptyctl-windows-amd64.exe
//
// The texts about ptyctl are in manifest.json beside this file, for bundles, and in
// server.json at the root of the module, for the registry. The program adds the list of
// tools and the hashes. Equal programs give equal bundles, byte for byte.
package main
