package session

import "ptyctl/lockmgr"

// A Lease is a session's lock as one task holds it.
type Lease = lockmgr.Lease
