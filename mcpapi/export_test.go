package mcpapi

// MaxLogged is the longest id in a line of the log.
const MaxLogged = maxLogged
