package mcpapi

import (
	"context"

	"ptyctl/session"
)

// visible reports whether the caller of ctx may know of a session. Everything that shows sessions as resources asks it.
func visible(ctx context.Context, i session.Info) bool { return callerFrom(ctx).sees(i) }
