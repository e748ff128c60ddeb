package mcpapi
