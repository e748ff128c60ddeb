// Command bundle packs built programs for those who install MCP servers with a click: one MCP bundle (.mcpb) for each
// platform, and the server.json that names them for the MCP registry.
//
//	go run ./internal/bundle -version 0.1.0 -url https://github.com/OWNER/ptyctl/releases/download/v0.1.0 -out build/dist \
//		linux-amd64=build/ptyctl-linux-amd64 windows-amd64=build/ptyctl-windows-amd64.exe
//
// What a bundle and the registry say of ptyctl stands in manifest.json beside this file, and in server.json at the root of
// the module. What follows from the code, the list of the tools, or from the build, such as hashes, is filled in here.
// The same programs make the same bundles, byte by byte.
package main
