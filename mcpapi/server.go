package mcpapi

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"ptyctl/consent"
	"ptyctl/fleet/batch"
	"ptyctl/internal/faultlog"
	"ptyctl/internal/mcpgo"
	"ptyctl/mcpapi/apps"
	"ptyctl/mcpapi/elicit"
	"ptyctl/mcpapi/identity"
	"ptyctl/mcpapi/kept"
	"ptyctl/mcpapi/lending"
	"ptyctl/mcpapi/peers"
	"ptyctl/mcpapi/schema"
	"ptyctl/mcpapi/subscribe"
	"ptyctl/mcpapi/tools"
	"ptyctl/mcpapi/toolset"
	"ptyctl/mcpapi/wire"
	"ptyctl/session"
	"ptyctl/session/hosts"
	"ptyctl/term"
)

// Options configure a server. Sessions is required; the zero value of everything else works.
type Options struct {
	Sessions  *session.Manager
	Plan      term.Planner // of SSH, for commands that name a host; nil: they are refused
	Fleet     toolset.Fleet
	Version   string
	Results   identity.Results // for callers that ask for no form; empty: compact
	Transport string           // in the audit log, for transports that set no Caller; empty: "stdio"
	ReadOnly  bool             // no caller may type
	// Toolsets names the sets to offer; CheckToolsets must have accepted the names. Empty: this package's own tools.
	Toolsets []string
	More     []toolset.Set // sets of others: offered if Toolsets names them
	// Local lists the transports with clients that may see ptyctl_run, and files of this machine; a Gate decides what
	// each of them may do. Empty: no transport.
	Local []string

	toolset.Limits
	Defaults Defaults // of a session to open, for the list of tools

	NoInteractive bool // never ask during a login
	AllowForce    bool // a task without the lock may close by force

	Elicitation   bool // the person at the client gets the questions of a login, if the client can ask
	JSONRPCErrors bool // failures are JSON-RPC errors on stdio; see rpcerror.go

	Consents *consent.Book // the calls that wait for one of the operator's people; nil: no person can be asked

	Pages *elicit.Pages // for questions that no client may see the answer of; nil: they are left to the caller

	// Answered gets the text of each result, and the number of its call; see [term.Actor]. It must not block. nil: none
	// does.
	Answered func(serial uint64, text string, failed bool)

	Watch *subscribe.Watch // also one of the Manager's observers; nil: clients get no notifications of changes

	Elsewhere func(ctx context.Context) []toolset.Elsewhere // sessions of the caller in other processes; nil: none

	Cluster ClusterOptions

	Apps bool // show terminals in the chat of clients that draw pages of their servers; see package apps

	Secrets term.Secrets // the operator's secrets; nil: no secrets, and no tool has arguments for them

	Logger *slog.Logger // nil: errors go to slog.Default
}

// ClusterOptions are about the other nodes of a cluster. The zero value is for a machine alone.
type ClusterOptions struct {
	Peers  peers.Peers   // nil: no other nodes
	Memory kept.Memory   // records of the sessions of all nodes; nil: sessions of a lost node cannot be reopened
	Notice func() string // a notice about this node for callers, given once for each session; nil, or empty: no notice

	// Lendings has the files that this node has lent to copies at other nodes. All servers of a node must share one,
	// because one of them lends and another answers the node that copies; nil: the server is the only one.
	Lendings *lending.Table

	// Rules returns the digest of the rules in force. Judge judges by them the actions that another node is about to do
	// for a client of this one. Nil: there are no rules.
	Rules func() string
	Judge term.Gate
}

// Defaults are the values for arguments that a call to open a session leaves out. The Manager and its dialers apply
// them, and the list of tools names them.
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

// withDefaults returns o with each unset limit at its default, so that no other code must check for 0.
func (o Options) withDefaults() Options {
	o.Version = cmp.Or(o.Version, "dev")
	o.Transport = cmp.Or(o.Transport, "stdio")
	// The common clients give up on a call after a minute.
	o.MaxWait = cmp.Or(o.MaxWait, 50*time.Second)
	o.ReadTimeout = cmp.Or(o.ReadTimeout, 2*time.Second)
	o.ExecTimeout = cmp.Or(o.ExecTimeout, time.Minute)
	o.MaxConnectTimeout = cmp.Or(o.MaxConnectTimeout, 2*time.Minute)
	// A command may run for a day, over many calls; without an end a forgotten one would hold its channel for
	// good.
	o.MaxExecTimeout = cmp.Or(o.MaxExecTimeout, 24*time.Hour)
	o.UnattendedExec = cmp.Or(o.UnattendedExec, 10*time.Minute)
	o.MaxReadBytes = cmp.Or(o.MaxReadBytes, 1<<20)
	o.MaxFileRead = cmp.Or(o.MaxFileRead, 1<<20)
	o.Format = cmp.Or(o.Format, "clean")
	o.LockTTL = cmp.Or(o.LockTTL, time.Minute)
	o.MaxLockTTL = cmp.Or(o.MaxLockTTL, time.Hour)
	o.Logger = faultlog.Or(o.Logger)
	return o
}

// api is the state that all handlers share.
type api struct {
	o   Options
	m   *session.Manager
	log *slog.Logger

	srv   *server.MCPServer
	tools map[string]calledTool

	shared    toolset.Shared
	results   wire.Encoder
	replays   *replays
	questions *elicit.Questions
	given     given
	listed    map[string]entry
	readers   map[shownTo]reader
	special   map[shownTo]entry // the tools that some callers see with actions of their own
	lendings  *lending.Table
	callable  map[shownTo]*toolset.Tool // and as each caller calls them
	placed    map[string]bool           // the tools that are about this machine
	files     map[string]bool           // tools about its files

	farFiles map[string]bool // tools about files there, or on other hosts
}

// A Server is an MCP server with the tools. It answers tool calls itself; mcp-go answers all other requests.
type Server struct {
	protocol *mcpgo.Server
	sessions *session.Manager
	api      *api
}

// Protocol returns the server as the transports use it: pass the Server itself to stdio.Serve and httpserve.New. The type
// is of no use outside this module.
func (s *Server) Protocol() *mcpgo.Server { return s.protocol }

// calledTool is a tool and its set.
type calledTool struct {
	set *toolset.Set
	*toolset.Tool
}

// NewServer makes an MCP server with the tools. Each server has its own memory of retries and questions; sessions
// belong to o.Sessions, and several servers may share them.
func NewServer(o Options) *Server {
	o = o.withDefaults()
	s := &api{
		o:        o,
		m:        o.Sessions,
		log:      o.Logger,
		replays:  newReplays(),
		tools:    make(map[string]calledTool),
		listed:   make(map[string]entry),
		lendings: cmp.Or(o.Cluster.Lendings, new(lending.Table)),
		readers:  make(map[shownTo]reader),
		special:  make(map[shownTo]entry),
		callable: make(map[shownTo]*toolset.Tool),
		placed:   make(map[string]bool),
		files:    make(map[string]bool),
		farFiles: make(map[string]bool),
		results:  wire.Encoder{Results: o.Results, JSONRPCErrors: o.JSONRPCErrors, Log: o.Logger},
		shared: toolset.Shared{
			Sessions: o.Sessions,
			Hosts:    hosts.New(hosts.Options{Manager: o.Sessions, Plan: o.Plan, Idle: o.AutoIdle}),
			Fleet:    o.Fleet,
			Version:  o.Version, Started: time.Now(), Transport: o.Transport, ReadOnly: o.ReadOnly,
			NoInteractive: o.NoInteractive, AllowForce: o.AllowForce, Secrets: o.Secrets, Numbered: o.Answered != nil, Limits: o.Limits,
			Elsewhere: o.Elsewhere, Notice: o.Cluster.Notice, Memory: o.Cluster.Memory,
		},
	}
	if o.Cluster.Peers != nil {
		s.shared.Gather, s.shared.Ask, s.shared.Far = s.gather, s.ask, farResources{s}.Node
	}
	sets := setsOf(o.Toolsets, o.More)
	o.Apps = o.Apps && slices.ContainsFunc(sets, func(s toolset.Set) bool { return s.Name == tools.CoreSet })
	s.o.Apps = o.Apps
	if o.Apps {
		sets = append(sets, apps.New().Toolset())
	}
	var guide []string
	for _, set := range sets {
		guide = append(guide, set.Instructions)
	}
	hooks := new(server.Hooks)
	hooks.AddAfterInitialize(func(ctx context.Context, _ any, req *mcp.InitializeRequest, _ *mcp.InitializeResult) {
		s.named(ctx, req.Params.ClientInfo.Name)
	})
	hooks.AddAfterListTools(s.forSome)
	hooks.AddAfterListTools(s.forReader)
	hooks.AddAfterListTools(s.forPlace)
	if o.Apps {
		hooks.AddAfterListTools(apps.Link)
		apps.Declare(hooks)
	}
	settings := o.settings()
	srv := server.NewMCPServer("ptyctl", o.Version,
		server.WithHooks(hooks),
		server.WithResourceCapabilities(o.Watch != nil, o.Watch != nil),
		server.WithTitle("ptyctl terminals"),
		server.WithInstructions(strings.Join(slices.DeleteFunc(guide, func(g string) bool { return g == "" }), "\n\n")),
		// The tools stay the same while the server runs, so that there is no change to announce.
		server.WithToolCapabilities(false),
		server.WithToolFilter(s.forClient),
		server.WithIcons(icon()),
		server.WithCompletions(),
		server.WithResourceCompletionProvider(subscribe.Completion(o.Sessions)),
	)
	for i := range sets {
		set := &sets[i]
		for _, t := range set.Tools {
			table := t.WithSettings(settings)
			if o.Secrets == nil {
				table = table.Without(schema.OfSecrets, "the operator has configured no secrets ([secret.NAME])")
			}
			if offered, tcp := s.m.ServerView().OffersForwards(); !offered {
				const why = "the operator forwards nothing ([forward] allow)"
				table = table.Without(schema.OfForward, why).Without(schema.OfForwardTCP, why)
			} else if !tcp {
				table = table.Without(schema.OfForwardTCP, "the operator forwards from Unix sockets alone (forward.tcp)")
			}
			listed := partOf(table, sets, schema.Everyone)
			called := &toolset.Tool{Tool: listed, Handle: t.Handle}
			srv.AddTool(unlisted(listed), s.handler(set, called))
			s.listed[t.Name] = declare(set, listed.For(schema.Everyone))
			for _, who := range []schema.Callers{schema.Everyone, schema.Clients, schema.Operators} {
				shown := listed
				if who == schema.Operators {
					shown = partOf(table, sets, who)
				}
				if shown = shown.For(who); shown != listed {
					s.special[shownTo{who, t.Name}] = declare(set, shown)
					s.callable[shownTo{who, t.Name}] = &toolset.Tool{Tool: shown, Handle: t.Handle}
				}
				s.readers[shownTo{who, t.Name}] = forReading(set, &toolset.Tool{Tool: shown, Handle: t.Handle})
			}
			s.tools[t.Name] = calledTool{set, called}
			s.placed[t.Name], s.files[t.Name], s.farFiles[t.Name] = t.Local, t.Files, t.FarFiles
		}
	}
	addPrompts(srv, sets)
	if o.Apps {
		apps.AddResource(srv, hooks)
	}
	subscribe.AddResources(srv, hooks, s.m, s.farResources())
	if o.Watch != nil {
		o.Watch.Serve(srv, hooks, s.m, s.farResources())
	}
	logCalls(hooks, s.log)
	s.srv = srv
	s.questions = elicit.New(elicit.Questions{Client: srv, Logins: o.Elicitation, Pages: o.Pages, People: o.Consents, Log: s.log})
	return &Server{&mcpgo.Server{MCPServer: srv, Answer: s.answer, About: s.about, NoTool: s.noTool}, o.Sessions, s}
}

// shownTo is a tool, and the callers that see it with actions of their own.
type shownTo struct {
	who  schema.Callers
	tool string
}

// callersOf returns which of the callers that see actions of their own the caller of ctx is one of.
func (s *api) callersOf(ctx context.Context) schema.Callers {
	switch caller := identity.FromContext(ctx); {
	case caller.Operator:
		return schema.Operators
	case caller.Shim != "":
		return schema.Clients
	}
	return schema.Everyone
}

// named sets the name of the caller's program in the Manager, if the caller's sessions outlive it.
func (s *api) named(ctx context.Context, client string) {
	if caller := identity.FromContext(ctx); caller.Shim != "" {
		s.m.ServerView().Owners().Named(caller.Principal(), client)
	}
}

// outOfReach returns a function that reports whether a tool is for places that the caller may not reach.
func (s *api) outOfReach(ctx context.Context) func(tool string) bool {
	// By transport, because a program of this machine runs as the user of ptyctl: an HTTP client may be
	// whichever program has the token.
	programs := slices.Contains(s.o.Local, s.shared.TransportOf(ctx))
	here, far := s.m.ServerView().OffersFiles()
	files := far || here && programs
	return func(tool string) bool {
		return s.placed[tool] && !programs || s.farFiles[tool] && !files || s.files[tool] && !here
	}
}
