package mcpapi

import (
	"cmp"
	"strconv"
	"time"

	"ptyctl/fleet/batch"
	"ptyctl/mcpapi/schema"
)

// Defaults are what counts where a call to open a session says nothing. The Manager and its dialers apply them, and the
// list of tools names them.
type Defaults struct {
	ConnectTimeout time.Duration // 0: 15 s
	IdleTimeout    time.Duration // 0: never
	HostKeyPolicy  string        // empty: strict
	NoSSHConfig    bool          // no ssh_config is read
}

// settings returns the values in force of the settings that the descriptions of arguments name. All limits must be set.
func (o Options) settings() schema.Settings {
	ms := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	parallel := 0
	if o.Fleet.Runs != nil {
		parallel = o.Fleet.Runs.MaxParallel()
	}
	return schema.Settings{
		"fleet.max_parallel":              strconv.Itoa(cmp.Or(parallel, batch.DefaultParallel)),
		"auth.interactive":                strconv.FormatBool(!o.NoInteractive),
		"fs.max_read_bytes":               strconv.Itoa(o.MaxFileRead),
		"limits.max_exec_timeout_ms":      ms(o.MaxExecTimeout),
		"limits.max_read_bytes":           strconv.Itoa(o.MaxReadBytes),
		"limits.max_wait_ms":              ms(o.MaxWait),
		"locks.default_ttl_ms":            ms(o.LockTTL),
		"session.connect_timeout_ms":      ms(cmp.Or(o.Defaults.ConnectTimeout, 15*time.Second)),
		"session.default_exec_timeout_ms": ms(o.ExecTimeout),
		"session.format":                  o.Format,
		"session.idle_timeout_ms":         ms(o.Defaults.IdleTimeout),
		"session.read_timeout_ms":         ms(o.ReadTimeout),
		"ssh.host_key_policy":             cmp.Or(o.Defaults.HostKeyPolicy, "strict"),
		"ssh.use_openssh_config":          strconv.FormatBool(!o.Defaults.NoSSHConfig),
	}
}
