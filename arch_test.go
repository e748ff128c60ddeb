// Package ptyctl_test holds the rules that no single package can express: the imports
// that each package may have, that every package has exactly one package comment, and that
// every argument of a tool is read.
//
// To add a package, or an import of a package, change importRules and run
//
//	go test . -update
//
// which rewrites the linter's copy of the rules in .golangci.yml.
package ptyctl_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the import rules in .golangci.yml, the generated documents and docs/api")

// A rule lists the imports that the non-test files of a package may have besides the
// standard library.
type rule struct {
	pkg      string   // folder below the module root; "a/b/..." means every package below a/b
	file     string   // if set, the rule applies only to this file of pkg and replaces the package's rule
	ours     []string // folders of this module
	theirs   []string // modules of others, or parts of them: the path and everything below it
	anything bool     // every import is allowed except packages for tests
	why      string   // shown with a violation
}

// testsOnly are the folders that only tests may import: the tests of the built program,
// and the lab that they share.
var testsOnly = []string{"integration", "internal/lab"}

// importRules is the architecture: transports are at the bottom, the wire is at the top,
// and imports must point down.
var importRules = []rule{
	{pkg: "term", why: "it is the vocabulary that every other package shares"},
	{pkg: "buffer", why: "it knows bytes and offsets, not terminals"},
	{pkg: "quote", why: "it knows words and shells, not their use"},
	{pkg: "internal/faultlog", why: "it passes on what it is given, and knows nobody's errors"},
	{pkg: "internal/resident", theirs: []string{"golang.org/x/sys"}, why: "it knows memory, and nothing that is in it"},
	{pkg: "internal/peer", theirs: []string{"golang.org/x/sys"}, why: "it knows sockets, and nothing that they carry"},
	{pkg: "internal/locked", theirs: []string{"golang.org/x/sys"}, why: "it knows memory, and nothing that is in it"},
	{pkg: "internal/inorder", why: "it orders calls, and knows neither tools nor sessions"},
	{pkg: "lockmgr", why: "it knows keys and holders, not sessions"},
	{pkg: "vt", why: "it knows bytes, not terminals"},
	{pkg: "screen", ours: []string{"vt"}, theirs: []string{"github.com/clipperhouse/displaywidth"}, why: "it draws its input and knows no session"},
	{pkg: "screen/screentest", ours: []string{"screen"}, why: "the tests of screens and of recordings may use it"},
	{pkg: "screen/picture", ours: []string{"screen"}, theirs: []string{"golang.org/x/image"}, why: "it draws a screen and knows no session"},
	{pkg: "profile", theirs: []string{"github.com/pelletier/go-toml"}, why: "it is data about devices, not behaviour; the files are TOML, where a pattern needs no escaping"},
	{pkg: "session/keys", ours: []string{"internal/lazyregexp", "term"}, why: "it knows names and bytes, not sessions"},
	{pkg: "session/access", ours: []string{"lockmgr", "term"}, why: "it decides about actions and performs none"},
	{pkg: "session/snapshot", ours: []string{"buffer", "term"}, why: "it keeps texts, whatever has printed them"},
	{pkg: "session/owners", ours: []string{"term"}, why: "it knows whose sessions are, and nothing else of them"},
	{pkg: "session/internal/sessiontest", ours: []string{"internal/bufpipe", "internal/leaktest", "session", "term"}, why: "the tests of sessions and their parts may use it"},
	{pkg: "session/reserved", ours: []string{"term"}, why: "it refuses what is sent, and knows neither leases nor sessions"},
	{pkg: "session/redact", theirs: []string{"github.com/clipperhouse/displaywidth"}, why: "it knows bytes and secrets, not terminals"},
	{pkg: "session/known", ours: []string{"internal/locked", "secret/forms", "term"}, why: "it knows secrets and hosts by name, and no session"},
	{pkg: "session/shell", ours: []string{"term"}, why: "it knows names of shells and runs none"},
	{pkg: "session/marker", ours: []string{"internal/lazyregexp", "session/shell", "vt"}, why: "it makes and reads text, and does no I/O"},
	{pkg: "session/prompt", ours: []string{"internal/lazyregexp", "session/shell", "term"}, why: "it judges lines, and does no I/O"},
	{pkg: "session/match", ours: []string{"buffer", "vt"}, why: "it finds patterns in a terminal's output and knows no session"},
	{pkg: "session/output", ours: []string{"buffer", "vt"}, why: "it knows bytes that a reader waits for, not sessions"},
	{pkg: "session/text", ours: []string{"buffer", "vt", "session/output"}, why: "it makes text of a buffer and knows no session"},
	{pkg: "session/filecopy", ours: []string{"term"}, why: "it copies between two machines' files and knows no session"},
	{pkg: "session/tap", why: "it knows bytes, not terminals"},
	{pkg: "session/xmodem", ours: []string{"term"}, why: "it knows a stream of bytes, and neither terminals nor files"},
	{pkg: "session/transfer", ours: []string{"session/access", "session/filecopy", "session/known", "session/xmodem", "term"}, why: "it carries out actions on files, and knows of a session only what carries them"},
	{pkg: "session/await", ours: []string{"session", "term"}, why: "it waits at sessions, and is no part of one"},
	{pkg: "session/scene", ours: []string{"internal/lazyregexp", "screen", "session/prompt", "term"}, why: "it reads a screen, and knows no terminal"},
	{pkg: "session/lane", ours: []string{"internal/inorder", "internal/lazyregexp", "term", "buffer", "screen", "vt", "session/marker", "session/paced", "session/prompt", "session/scene", "session/shell"}, why: "it types commands into a terminal and knows no session"},
	{pkg: "session/answer", why: "it sends the answers of the screen, and knows no session"},
	{pkg: "session/forward/address", why: "it knows the spelling of addresses, and resolves nothing"},
	{pkg: "session/forward", ours: []string{"internal/peer", "internal/rundir", "session/access", "session/forward/address", "term"}, why: "it listens and copies, and knows of a session only what carries its connections"},
	{pkg: "session/deadline", why: "it knows a time and who waits, and no command"},
	{pkg: "session/display", ours: []string{"screen", "session/redact"}, why: "it shows its input, and knows no session"},
	{pkg: "session/sizing", ours: []string{"session/access", "term"}, why: "it knows who has a size set, and not how that is done"},
	{pkg: "session/steps", ours: []string{"session/display", "session/match", "term"}, why: "it orders inputs and waits, and types nothing itself"},
	{pkg: "session/sudo", ours: []string{"internal/lazyregexp", "internal/locked", "quote", "term"}, why: "it makes and reads text of sudo, and runs nothing"},
	{pkg: "session/vault", ours: []string{"term"}, why: "it fetches a secret for a terminal, and types nothing itself"},
	{pkg: "session/paced", ours: []string{"internal/lazyregexp", "internal/scrub"}, why: "it orders lines and waits, and knows no session"},
	{pkg: "session/reopen", ours: []string{"term"}, why: "it decides when to try again, and knows no session"},
	{pkg: "session", ours: []string{"internal/exhausted", "internal/faultlog", "internal/inorder", "buffer", "internal/locked", "lockmgr", "quote", "screen", "secret/forms", "session/access", "session/answer", "session/deadline", "session/display", "session/filecopy", "session/forward", "session/keys", "session/known", "session/lane", "session/marker", "session/match", "session/output", "session/owners", "session/paced", "session/prompt", "session/redact", "session/reopen", "session/reserved", "session/scene", "session/shell", "session/sizing", "session/snapshot", "session/steps", "session/sudo", "session/tap", "session/text", "session/transfer", "session/vault", "session/xmodem", "term", "vt"}, why: "the engine knows no protocol, no wire format and no command line"},
	{pkg: "session/hosts", ours: []string{"session", "term"}, why: "it chooses sessions, and knows no protocol and no wire format"},

	{pkg: "sshx", ours: []string{"internal/exhausted", "term", "sshx/auth", "sshx/hostkeys", "sshx/mux", "sshx/plan", "sshx/reach", "sshx/sshconfig"}, theirs: []string{"golang.org/x/crypto/ssh"}, why: "a transport is usable without the engine"},
	{pkg: "sshx/auth", ours: []string{"internal/winpipe", "term", "sshx/sshconfig"}, theirs: []string{"golang.org/x/crypto/ssh", "golang.org/x/sys"}, why: "it chooses credentials and connects to nothing but an agent"},
	{pkg: "sshx/internal/sshtest", ours: []string{"internal/bufpipe", "internal/leaktest", "internal/sshserver", "sshx", "term"}, theirs: []string{"golang.org/x/crypto/ssh"}, why: "the tests of sshx and its packages may use it"},
	{pkg: "sshx/mux", ours: []string{"term", "quote", "sshx/hostkeys"}, theirs: []string{"golang.org/x/crypto/ssh"}, why: "it carries channels and knows no configuration and no credential"},
	{pkg: "sshx/plan", ours: []string{"internal/exhausted", "internal/lazyregexp", "term", "sshx/auth", "sshx/hostkeys", "sshx/reach", "sshx/sshconfig"}, theirs: []string{"golang.org/x/crypto/ssh"}, why: "it decides how to connect and sends nothing"},
	{pkg: "sshx/reach", ours: []string{"internal/exhausted", "term"}, theirs: []string{"golang.org/x/net/proxy", "golang.org/x/sys"}, why: "it reaches servers and knows no SSH"},
	{pkg: "sshx/patterns", why: "it compares names and knows no file"},
	{pkg: "sshx/sshconfig", ours: []string{"term", "sshx/patterns"}, theirs: []string{"golang.org/x/crypto/ssh", "golang.org/x/sys"}, why: "it evaluates ssh_config and connects to nothing"},
	{pkg: "sshx/hostkeys", ours: []string{"internal/exhausted", "term", "sshx/patterns"}, theirs: []string{"golang.org/x/crypto/ssh"}, why: "it decides about keys and connects to nothing"},
	{pkg: "telnet/loss", why: "it sets options of TCP connections"},
	{pkg: "telnet/urgent", why: "it knows sockets and no Telnet option"},
	{pkg: "telnet", ours: []string{"internal/exhausted", "term", "telnet/loss", "telnet/urgent"}, why: "a transport is usable without the engine"},
	{pkg: "serial", ours: []string{"internal/exhausted", "term"}, theirs: []string{"github.com/fsnotify/fsnotify", "go.bug.st/serial", "golang.org/x/sys"}, why: "a transport is usable without the engine"},
	{pkg: "telnet/gotelnet", ours: []string{"telnet"}, theirs: []string{"github.com/reiver/go-telnet", "github.com/reiver/go-oi"}, why: "programs for go-telnet use it, and ptyctl does not"},
	{pkg: "ptyx/protect", theirs: []string{"golang.org/x/sys"}, why: "it protects this process and starts none"},
	{pkg: "ptyx/internal/processes", ours: []string{"internal/resident"}, theirs: []string{"golang.org/x/sys"}, why: "it knows processes, and neither programs nor terminals"},
	{pkg: "ptyx/internal/job", theirs: []string{"golang.org/x/sys"}, why: "it holds processes, and starts none"},
	{pkg: "internal/ptypair", theirs: []string{"golang.org/x/sys"}, why: "it opens terminals, and knows no program"},
	{pkg: "ptyx", ours: []string{"internal/exhausted", "internal/ptypair", "term", "ptyx/internal/job", "ptyx/internal/processes", "ptyx/protect"}, theirs: []string{"github.com/landlock-lsm/go-landlock/landlock", "github.com/charmbracelet/x/conpty", "golang.org/x/sys"}, why: "a transport is usable without the engine"},

	{pkg: "fleet/nodeset", why: "it reads and writes names, and knows no host"},
	{pkg: "fleet/inventory", ours: []string{"fleet/nodeset"}, theirs: []string{"go.yaml.in/yaml"}, why: "it reads files of other programs and runs none of them"},
	{pkg: "fleet/nodes", ours: []string{"fleet/inventory", "fleet/nodeset", "internal/destination", "internal/nearest"}, why: "it finds hosts and reaches none"},
	{pkg: "fleet/mask", why: "it changes lines and knows no host but their own"},
	{pkg: "fleet/linediff", why: "it compares lines and knows no host"},
	{pkg: "fleet/groups", ours: []string{"fleet/linediff", "fleet/mask", "fleet/nodeset"}, why: "it compares answers and asks no host"},

	{pkg: "fleet/batch", why: "it decides which host begins, and starts nothing"},
	{pkg: "fleet/saved", ours: []string{"fleet/groups", "fleet/linediff", "fleet/mask"}, why: "it compares answers and asks no host"},
	{pkg: "fleet/stage", ours: []string{"term"}, why: "it keeps a file and knows neither its source nor its targets"},
	{pkg: "fleet", ours: []string{"fleet/batch", "fleet/groups", "fleet/nodeset", "fleet/saved", "fleet/stage", "internal/lazyregexp", "quote", "session", "session/access", "session/filecopy", "session/known", "session/shell", "session/transfer", "term"}, why: "it runs commands over a Dialer that it is given, and knows no wire format"},
	{pkg: "consent", ours: []string{"internal/locked", "term"}, why: "it keeps questions and answers, and knows neither rule nor wire format"},
	{pkg: "devlock", ours: []string{"internal/rundir"}, theirs: []string{"github.com/fsnotify/fsnotify", "golang.org/x/sys"}, why: "it gives devices owners and knows nothing of terminals"},
	{pkg: "devlock/locktest", ours: []string{"devlock"}, why: "the tests of every Store may use it"},
	{pkg: "policy/grammar", ours: []string{"internal/lazyregexp", "quote"}, theirs: []string{"mvdan.cc/sh"}, why: "it reads and prints lines, and knows no rule"},
	{pkg: "policy/unwrap", ours: []string{"internal/lazyregexp", "policy/grammar", "quote"}, theirs: []string{"mvdan.cc/sh"}, why: "it finds commands and judges none"},
	{pkg: "policy/preset", ours: []string{"internal/lazyregexp", "policy/grammar"}, why: "it is lists of commands and knows no other rule"},
	{pkg: "policy", ours: []string{"internal/lazyregexp", "term", "quote", "policy/grammar", "policy/preset", "policy/unwrap"}, why: "it judges actions and performs none"},
	{pkg: "secret", ours: []string{"internal/lazyregexp", "term", "secret/forms", "secret/source", "sshx/patterns"}, why: "it decides who gets a value, and knows no transport"},
	{pkg: "secret/forms", why: "it knows bytes and their forms, and no use of them"},
	{pkg: "secret/source", ours: []string{"internal/lazyregexp", "internal/locked"}, theirs: []string{"filippo.io/age", "github.com/zalando/go-keyring"}, why: "it fetches values, and knows no use of them"},
	{pkg: "fsx", ours: []string{"term"}, theirs: []string{"github.com/pkg/sftp"}, why: "it reaches files, here or over a connection that it is given"},
	{pkg: "audit", ours: []string{"internal/scrub", "term"}, why: "it observes events and touches no session"},
	{pkg: "record", ours: []string{"internal/faultlog", "internal/rundir", "internal/scrub", "screen", "term", "vt"}, theirs: []string{"filippo.io/age"}, why: "it observes events and touches no session"},
	{pkg: "notify", ours: []string{"term"}, why: "it observes events and touches no session"},
	{pkg: "metrics", ours: []string{"term"}, why: "it observes events and touches no session"},
	{pkg: "config", ours: []string{"internal/lazyregexp", "internal/nearest"}, theirs: []string{"github.com/pelletier/go-toml"}, why: "it is one struct; internal/app passes its parts to the packages that need them"},

	{pkg: "mcpapi/jsonrpc", theirs: []string{"github.com/segmentio/asm/ascii", "github.com/segmentio/asm/base64"}, why: "it knows messages and no tool"},
	{pkg: "internal/mcpgo", ours: []string{"internal/inorder", "mcpapi/jsonrpc"}, theirs: []string{"github.com/mark3labs/mcp-go"}, why: "it gets round mcp-go and knows no tool"},
	{pkg: "mcpapi/stdio", ours: []string{"internal/faultlog", "internal/inorder", "internal/mcpgo", "internal/workers", "mcpapi/jsonrpc", "term"}, theirs: []string{"github.com/mark3labs/mcp-go"}, why: "it carries messages and knows no tool"},
	{pkg: "mcpapi/schema", ours: []string{"internal/lazyregexp", "internal/nearest", "mcpapi/jsonrpc", "term"}, why: "it declares tools and runs none"},
	{pkg: "mcpapi/identity", ours: []string{"session", "term"}, why: "it knows callers and no message"},
	{pkg: "mcpapi/wire", ours: []string{"internal/mcpgo", "mcpapi/identity", "mcpapi/jsonrpc", "session", "session/forward", "term"}, theirs: []string{"github.com/mark3labs/mcp-go/mcp"}, why: "it gives values the form of the wire, and does nothing with sessions"},
	{pkg: "mcpapi/peers", ours: []string{"mcpapi/jsonrpc"}, why: "it says what is asked of other nodes, and reaches none"},
	{pkg: "mcpapi/verdict", ours: []string{"term"}, why: "it says in which form nodes ask each other about actions, and judges none"},
	{pkg: "mcpapi/lending", ours: []string{"session", "term"}, why: "it has one node read files of another, and knows neither calls nor nodes"},
	{pkg: "mcpapi/kept", ours: []string{"session", "term"}, why: "it says what nodes keep of sessions, and stores nothing"},
	{pkg: "mcpapi/toolset", ours: []string{"fleet", "fleet/nodes", "internal/destination", "internal/mcpgo", "mcpapi/identity", "mcpapi/jsonrpc", "mcpapi/kept", "mcpapi/peers", "mcpapi/schema", "mcpapi/wire", "session", "session/hosts", "session/keys", "session/owners", "term"}, why: "tools are written against it, and see no server"},
	{pkg: "mcpapi/internal/subject", ours: []string{"internal/inorder", "mcpapi/jsonrpc", "mcpapi/schema", "term"}, why: "it reads arguments, and calls no tool"},
	{pkg: "mcpapi/tools/files", ours: []string{"fleet", "mcpapi/jsonrpc", "mcpapi/schema", "mcpapi/tools/fleet", "mcpapi/toolset", "mcpapi/wire", "session", "session/hosts", "term"}, why: "it maps the wire to files and knows no transport"},
	{pkg: "mcpapi/tools/fleet", ours: []string{"fleet", "fleet/batch", "fleet/groups", "fleet/nodes", "fleet/nodeset", "fleet/saved", "mcpapi/schema", "mcpapi/toolset", "mcpapi/wire", "term", "vt"}, why: "it maps the wire to runs over many hosts and knows no transport"},
	{pkg: "mcpapi/tools/prompts", ours: []string{"mcpapi/toolset"}, why: "it is text for models"},
	{pkg: "mcpapi/tools", ours: []string{"internal/destination", "internal/lazyregexp", "mcpapi/kept", "mcpapi/schema", "mcpapi/tools/changes", "mcpapi/tools/files", "mcpapi/tools/fleet", "mcpapi/tools/paste", "mcpapi/tools/prompts", "mcpapi/toolset", "mcpapi/wire", "profile", "screen", "screen/picture", "session", "session/await", "session/forward", "session/keys", "session/lane", "session/prompt", "session/shell", "term"}, why: "it maps the wire to sessions and knows no transport"},
	{pkg: "mcpapi/tools/paste", ours: []string{"internal/scrub", "mcpapi/schema", "mcpapi/toolset", "mcpapi/wire", "session", "session/paced", "term"}, why: "it maps the wire to lines and knows no transport"},
	{pkg: "mcpapi/tools/changes", ours: []string{"fleet/linediff", "mcpapi/toolset", "mcpapi/wire", "profile", "session", "session/snapshot", "term"}, why: "it maps the wire to sessions and profiles, and types nothing but what a profile shows a configuration with"},
	{pkg: "mcpapi/toolset/...", ours: []string{"internal/inorder", "internal/lazyregexp", "mcpapi/schema", "mcpapi/toolset", "mcpapi/wire", "term", "session", "session/prompt"}, why: "a tool set has the same as the core tools: a call, and the sessions that its caller may see"},
	{pkg: "mcpapi/elicit", ours: []string{"consent", "internal/lazyregexp", "internal/mcpgo", "mcpapi/toolset", "mcpapi/wire", "session", "term"}, theirs: []string{"github.com/mark3labs/mcp-go"}, why: "it asks people about calls, and knows no tool"},
	{pkg: "mcpapi/apps", ours: []string{"internal/mcpgo", "mcpapi/schema", "mcpapi/toolset", "mcpapi/wire", "session", "term", "watch/frame", "watch/renderer"}, theirs: []string{"github.com/mark3labs/mcp-go"}, why: "it shows sessions and changes none"},
	{pkg: "mcpapi/questions", ours: []string{"consent", "mcpapi/identity", "session", "term"}, why: "it lists questions and takes answers, and knows no tool"},
	{pkg: "mcpapi/subscribe", ours: []string{"internal/mcpgo", "mcpapi/identity", "mcpapi/tools", "mcpapi/toolset", "mcpapi/wire", "session", "term"}, theirs: []string{"github.com/mark3labs/mcp-go"}, why: "it shows sessions and changes none"},
	{
		pkg: "mcpapi",
		ours: []string{
			"internal/faultlog", "consent", "fleet/batch", "mcpapi/apps", "mcpapi/elicit", "internal/inorder", "internal/mcpgo", "mcpapi/identity", "mcpapi/internal/subject", "mcpapi/jsonrpc", "mcpapi/kept", "mcpapi/lending", "mcpapi/peers", "mcpapi/schema",
			"mcpapi/subscribe", "mcpapi/tools", "mcpapi/toolset", "mcpapi/verdict", "mcpapi/wire", "session", "session/hosts", "term",
		},
		theirs: []string{"github.com/mark3labs/mcp-go"},
		why:    "it joins the tools with the protocol and knows no transport",
	},
	{
		pkg: "mcpapi/internal/mcptest",
		ours: []string{
			"internal/leaktest", "internal/sshserver", "mcpapi", "mcpapi/identity", "mcpapi/stdio", "mcpapi/subscribe", "mcpapi/wire", "session",
			"sshx", "term",
		},
		theirs: []string{"github.com/mark3labs/mcp-go", "github.com/modelcontextprotocol/go-sdk/mcp", "golang.org/x/crypto/ssh"},
		why:    "the tests of mcpapi and its parts may use it",
	},
	{pkg: "mcpapi/oauth", theirs: []string{"github.com/go-jose/go-jose/v4"}, why: "it verifies tokens, and knows no request"},
	{pkg: "mcpapi/httpserve", ours: []string{"internal/faultlog", "internal/inorder", "internal/mcpgo", "mcpapi/identity", "mcpapi/jsonrpc", "mcpapi/oauth", "term"}, theirs: []string{"github.com/mark3labs/mcp-go", "golang.org/x/time/rate"}, why: "it guards the way to the MCP server and knows no session"},
	{pkg: "control", ours: []string{"mcpapi/httpserve", "mcpapi/questions", "internal/peer", "internal/rundir", "internal/winpipe", "term"}, theirs: []string{"github.com/fsnotify/fsnotify", "github.com/mark3labs/mcp-go", "golang.org/x/sys"}, why: "it carries the MCP server over a Unix socket or a pipe: there is no second protocol"},

	{pkg: "daemon", ours: []string{"control", "internal/rundir", "internal/winpipe", "internal/mcpgo", "mcpapi/identity", "mcpapi/jsonrpc", "mcpapi/wire", "ptyx/protect", "term"}, theirs: []string{"github.com/mark3labs/mcp-go/mcp", "golang.org/x/sys"}, why: "it carries the MCP conversation from process to process, and knows no session"},

	{pkg: "watch", ours: []string{"control", "internal/client", "mcpapi/httpserve", "mcpapi/identity", "mcpapi/questions", "record", "term", "watch/frame", "watch/renderer"}, theirs: []string{"filippo.io/age"}, why: "a person has the tools of an agent and no more"},
	{pkg: "watch/frame", ours: []string{"screen"}, why: "it gives a screen a form and knows no session"},
	{pkg: "watch/renderer", why: "it is files for a browser, and knows neither page nor session"},
	{pkg: "watch/calls", ours: []string{"internal/scrub", "mcpapi/jsonrpc", "term"}, why: "it observes events and touches no session"},
	{pkg: "watch/feed", ours: []string{"session", "term", "watch/calls", "watch/frame"}, why: "it shows sessions and changes none"},

	{pkg: "internal/recordings", ours: []string{"internal/tty", "record"}, theirs: []string{"filippo.io/age"}, why: "it prints recordings, and knows no session"},
	{pkg: "internal/replay", ours: []string{"record", "vt"}, why: "it shows recordings, and knows no session"},
	{pkg: "internal/scrub", ours: []string{"internal/lazyregexp"}, why: "it knows what secrets look like, and no record"},
	{pkg: "internal/cli", why: "it reads command lines, and knows no command"},
	{pkg: "internal/gcburst", ours: []string{"term"}, why: "it counts bytes, and knows no session"},
	{pkg: "internal/workers", why: "it runs functions, and knows nothing of what they do"},
	{pkg: "internal/lazyregexp", why: "it puts off the work of regexp, and knows no expression"},
	{pkg: "internal/nearest", why: "it compares words and knows no list of them"},
	{pkg: "internal/destination", why: "it reads text and reaches nothing"},
	{pkg: "internal/tcppeer", why: "it reads the kernel's tables and knows nothing of who asks"},
	{pkg: "internal/cgroup", why: "it reads limits and knows nothing that they limit"},
	{pkg: "internal/winpipe", theirs: []string{"golang.org/x/sys"}, why: "it carries bytes, and knows no message"},
	{pkg: "internal/rundir", theirs: []string{"golang.org/x/sys"}, why: "it is a folder and the locks in it, whatever they are for"},
	{pkg: "internal/sshsig", theirs: []string{"golang.org/x/crypto/ssh"}, why: "it knows bytes and keys, and no file"},
	{pkg: "internal/releases", ours: []string{"internal/sshsig"}, theirs: []string{"golang.org/x/crypto/ssh"}, why: "it checks files, and downloads none"},
	{pkg: "packaging", why: "it is files"},
	{pkg: "scripts/bundle", ours: []string{"mcpapi", "session"}, why: "it packs what others have built, and asks the tools for their names"},
	{pkg: "internal/exhausted", ours: []string{"term"}, why: "it knows errors of the system, and nothing that meets them"},
	{pkg: "internal/bufpipe", why: "it is an in-memory connection and knows no protocol"},
	{pkg: "internal/transcript", why: "it is a file format for the tests of telnet and of the program"},
	{pkg: "internal/leaktest", theirs: []string{"golang.org/x/crypto/ssh"}, why: "every package's tests may use it"},
	{pkg: "internal/r2fake", why: "it stands for a program of others, and shares no code with its client"},
	{pkg: "internal/shelltest", ours: []string{"internal/ptypair"}, why: "it runs lines in shells and knows no rule"},
	{pkg: "scripts/fonts", theirs: []string{"golang.org/x/image"}, why: "it makes the font files of the pictures of what others publish"},
	{pkg: "scripts/renamemodule", why: "it changes text"},
	{pkg: "scripts/benchtable", why: "it prints what others have measured"},
	{pkg: "scripts/secrets", ours: []string{"internal/leaktest"}, why: "it is the last stage of the tests"},
	{pkg: "internal/sshserver", ours: []string{"internal/ptypair"}, theirs: []string{"golang.org/x/crypto/ssh", "golang.org/x/sys"}, why: "a peer that shared code with sshx would share its mistakes"},
	{pkg: "scripts/typecheck", why: "it reads packages, whatever they do"},
	{pkg: "scripts/checkrelease", why: "it looks, and makes nothing"},
	{pkg: "scripts/packages", ours: []string{"internal/releases"}, why: "it names files and runs nfpm"},
	{pkg: "scripts/manifests", ours: []string{"internal/releases"}, why: "it makes text of hashes"},
	{pkg: "scripts/provenance", ours: []string{"internal/releases"}, why: "it says what others have made"},
	{pkg: "scripts/sums", ours: []string{"internal/releases", "internal/sshsig"}, theirs: []string{"golang.org/x/crypto/ssh"}, why: "it signs what ptyctl verify checks"},
	{pkg: "scripts/dist", why: "a person who checks a release must be able to read all the code that made it"},
	{pkg: "examples/...", ours: []string{"mcpapi", "mcpapi/schema", "mcpapi/stdio", "mcpapi/toolset", "ptyx", "record", "screen", "session", "sshx", "term"}, why: "an example imports what a user of the library would import"},
	{pkg: "internal/tty", ours: []string{"term", "vt"}, theirs: []string{"golang.org/x/sys", "golang.org/x/term"}, why: "it knows the terminal of this process, and no session"},
	{pkg: "internal/cliadvice", ours: []string{"term", "mcpapi/wire"}, why: "it is text about errors, and does nothing"},
	{pkg: "internal/client", ours: []string{"control", "internal/tty", "mcpapi/questions", "term"}, why: "it calls tools and knows no engine"},
	{pkg: "internal/tmux", ours: []string{"config", "internal/rundir", "internal/tty", "quote", "term"}, why: "it shows windows and knows no session"},
	{pkg: "internal/attach", ours: []string{"control", "term", "vt", "internal/client", "internal/tmux", "internal/tty", "mcpapi/questions"}, theirs: []string{"golang.org/x/term"}, why: "a person has the tools of an agent and no more"},
	{pkg: "internal/direct", ours: []string{"control", "internal/attach", "internal/client", "internal/tty", "term"}, why: "a person has the tools of an agent and no more"},
	{pkg: "internal/fleetrun", ours: []string{"control", "fleet/groups", "fleet/saved", "internal/tty"}, why: "a person has the tools of an agent and no more"},
	{pkg: "internal/app/apptest", ours: []string{"config", "internal/app"}, why: "every test of a command may use it"},
	{pkg: "internal/policycheck", ours: []string{"term", "session/shell", "serial", "sshx", "telnet", "policy", "config", "internal/app"}, why: "it asks the rules and performs nothing"},
	{
		pkg: "internal/doctor",
		ours: []string{
			"term", "serial", "sshx", "ptyx", "ptyx/protect", "devlock", "config", "control", "daemon", "internal/app", "internal/cliadvice",
			"internal/cgroup", "internal/client", "internal/rundir",
			"internal/tty", "quote",
		},
		why: "it looks, and opens no session",
	},
	{pkg: "internal/explain", ours: []string{"sshx", "sshx/sshconfig", "config"}, why: "it shows a plan and connects to nothing"},
	{pkg: "internal/fleethosts", ours: []string{"fleet/nodes", "fleet/nodeset", "internal/tty"}, why: "it shows hosts and reaches none"},
	{pkg: "internal/atomicfile", why: "it knows files, and nothing that is in them"},
	{pkg: "internal/tokenfile", ours: []string{"internal/atomicfile", "config", "internal/rundir"}, why: "it changes a file, and serves nobody"},
	{pkg: "internal/callers", ours: []string{"config", "mcpapi/httpserve"}, why: "it compares tables of tokens, and lets nobody in"},
	{
		pkg:    "internal/setup",
		ours:   []string{"internal/atomicfile", "internal/lazyregexp"},
		theirs: []string{"github.com/mark3labs/mcp-go", "github.com/pelletier/go-toml", "github.com/tailscale/hujson", "go.yaml.in/yaml"},
		why:    "it knows the clients' files, and of ptyctl only how it is started",
	},
	{pkg: "internal/demo", ours: []string{"internal/sshserver"}, theirs: []string{"github.com/mark3labs/mcp-go", "golang.org/x/crypto/ssh"}, why: "it sees of ptyctl only what an MCP client sees"},
	{pkg: "internal/logging", ours: []string{"config"}, theirs: []string{"go.uber.org/zap"}, why: "it writes lines and knows no event"},
	{
		pkg: "internal/app",
		ours: []string{
			"internal/gcburst",
			"fleet/nodes", "sshx/sshconfig", "term", "session", "session/known", "session/forward", "session/forward/address", "session/owners", "sshx", "telnet", "serial", "ptyx", "policy", "fsx", "audit", "metrics", "config", "devlock",
			"consent", "notify", "record", "mcpapi", "mcpapi/elicit", "mcpapi/identity", "mcpapi/jsonrpc", "mcpapi/questions", "mcpapi/stdio", "mcpapi/subscribe",
			"term", "session", "session/forward", "session/forward/address", "session/owners", "sshx", "telnet", "serial", "ptyx", "policy", "fsx", "audit", "metrics", "config", "devlock",
			"consent", "fleet", "fleet/nodes", "fleet/saved", "notify", "record", "mcpapi", "mcpapi/elicit", "mcpapi/identity", "mcpapi/jsonrpc", "mcpapi/questions", "mcpapi/stdio", "mcpapi/subscribe",
			"mcpapi/httpserve", "mcpapi/kept", "mcpapi/lending", "mcpapi/oauth", "mcpapi/peers", "mcpapi/toolset", "mcpapi/tools", "mcpapi/verdict", "mcpapi/wire", "mcpapi/toolset/aiterm", "mcpapi/toolset/kpty", "mcpapi/toolset/pty", "mcpapi/toolset/r2",
			"control", "daemon", "internal/callers", "internal/cgroup", "internal/cliadvice", "internal/logging", "internal/resident", "internal/tcppeer", "secret", "secret/source",
			"watch", "watch/calls", "watch/feed",
		},
		theirs: []string{"filippo.io/age", "github.com/mark3labs/mcp-go", "golang.org/x/sys"},
		why:    "it wires the parts of the configuration once, and reads no command line",
	},
	{pkg: "internal/commands", anything: true, why: "it is the one place where everything is known"},
	{pkg: "cmd/ptyctl", ours: []string{"internal/commands"}, why: "what it does, a second program does as well"},
	{pkg: "internal/lab/system", why: "it makes the calls of Unix that tests need, and compiles everywhere"},
	{pkg: "internal/lab", ours: []string{"audit", "fsx", "internal/lab/system", "internal/leaktest", "internal/ptypair", "internal/sshserver", "record", "session", "sshx", "term"}, theirs: []string{"github.com/hinshun/vt10x", "github.com/modelcontextprotocol/go-sdk/mcp", "github.com/reiver/go-telnet", "golang.org/x/crypto/ssh"}, why: "it starts servers and the built program, and uses the transports as a client would"},
	{pkg: "integration/...", anything: true, why: "it tests the built program"},
}

// A goPackage holds the non-test files of one package, for every platform: for example both
// program_unix.go and host_windows.go.
type goPackage struct {
	folder string // below the module root; "." is the root
	files  []goFile
}

type goFile struct {
	name    string
	doc     bool // has a package comment
	imports []string
}

func TestArchitecture(t *testing.T) {
	module, pkgs := load(t)
	if len(pkgs) == 0 {
		t.Fatal("go list found no package with a non-test Go file: run the test in the module's root")
	}
	for _, v := range violations(importRules, module, pkgs) {
		t.Error(v)
	}
	for _, r := range importRules {
		tree, isTree := strings.CutSuffix(r.pkg, "/...")
		if !slices.ContainsFunc(pkgs, func(p goPackage) bool {
			return p.folder == r.pkg || isTree && strings.HasPrefix(p.folder, tree+"/")
		}) {
			t.Errorf("importRules has a rule for %s, but there is no such package: remove the rule", r.pkg)
		}
	}
}

// violations describes each violation of the rules: the import, the reason for the rule
// and the remedy.
func violations(rules []rule, module string, pkgs []goPackage) []string {
	var found []string
	report := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	for _, p := range pkgs {
		if _, ok := ruleFor(rules, p.folder, ""); !ok {
			report("package %s has no rule: add it to importRules in arch_test.go and run go test . -update", p.folder)
			continue
		}
		var documented []string
		for _, f := range p.files {
			r, _ := ruleFor(rules, p.folder, f.name)
			for _, path := range f.imports {
				switch {
				case path == "C":
					report(
						"%s/%s uses cgo: the program is built with CGO_ENABLED=0; use golang.org/x/sys or a package without C",
						p.folder,
						f.name,
					)
				case !r.allows(module, path):
					report(
						"%s/%s imports %q, which it may not (%s); allowed besides std: %s",
						p.folder,
						f.name,
						path,
						r.why,
						r.allowed(),
					)
				}
			}
			if f.doc {
				documented = append(documented, f.name)
			}
		}
		switch {
		case len(documented) == 0:
			report("package %s has no package comment: say what it is in %s/doc.go", p.folder, p.folder)
		case len(documented) > 1:
			report(
				"package %s has %d package comments, in %s: keep the one in doc.go",
				p.folder,
				len(documented),
				strings.Join(documented, ", "),
			)
		}
	}
	return found
}

// ruleFor returns the most specific rule: that of the file, or else of the package, or
// else of the folder above it.
func ruleFor(rules []rule, folder, file string) (rule, bool) {
	var best rule
	var known bool
	for _, r := range rules {
		tree, isTree := strings.CutSuffix(r.pkg, "/...")
		switch {
		case r.pkg == folder && r.file != "" && r.file == file:
			return r, true
		case r.pkg == folder && r.file == "":
			best, known = r, true
		case isTree && !known && strings.HasPrefix(folder, tree+"/"):
			best, known = r, true
		}
	}
	return best, known
}

func (r rule) allows(module, path string) bool {
	if folder, ok := strings.CutPrefix(path, module+"/"); ok {
		return slices.Contains(r.ours, folder) || r.anything && !isForTests(folder)
	}
	// The go command reserves import paths whose first element has no dot for the standard library.
	if first, _, _ := strings.Cut(path, "/"); !strings.Contains(first, ".") {
		return true
	}
	return r.anything || slices.ContainsFunc(r.theirs, func(prefix string) bool {
		return path == prefix || strings.HasPrefix(path, prefix+"/")
	})
}

// isForTests reports whether a folder is one of testsOnly or below it.
func isForTests(folder string) bool {
	return slices.ContainsFunc(testsOnly, func(tree string) bool {
		return folder == tree || strings.HasPrefix(folder, tree+"/")
	})
}

func (r rule) allowed() string {
	if r.anything {
		return "everything but " + strings.Join(testsOnly, " and ")
	}
	if len(r.ours)+len(r.theirs) == 0 {
		return "nothing"
	}
	return strings.Join(slices.Concat(r.ours, r.theirs), ", ")
}

// load parses the files that go list names. The field Imports of go list would cover only
// the present platform.
func load(t *testing.T) (module string, pkgs []goPackage) {
	t.Helper()
	// go test reuses a result while the files and folders that the test has opened are
	// unchanged, and go list is another process. Without this walk, a new package would not
	// be noticed.
	if err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && path != "." && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		if errors.Is(err, fs.ErrNotExist) { // another test's temporary folder
			return nil
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,Name,Module,GoFiles,CgoFiles,IgnoredGoFiles", "./...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list ./...: %v\n%s", err, &stderr)
	}
	dec := json.NewDecoder(bytes.NewReader(out))
	for {
		var listed struct {
			ImportPath, Dir, Name             string
			Module                            struct{ Path string }
			GoFiles, CgoFiles, IgnoredGoFiles []string
		}
		if err := dec.Decode(&listed); errors.Is(err, io.EOF) {
			return module, pkgs
		} else if err != nil {
			t.Fatalf("reading the output of go list: %v", err)
		}
		module = listed.Module.Path
		p := goPackage{folder: "."}
		if listed.ImportPath != module {
			p.folder = strings.TrimPrefix(listed.ImportPath, module+"/")
		}
		for _, name := range slices.Concat(listed.GoFiles, listed.CgoFiles, listed.IgnoredGoFiles) {
			if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "_") || strings.HasPrefix(name, ".") {
				continue
			}
			src, err := parser.ParseFile(
				token.NewFileSet(),
				filepath.Join(listed.Dir, name),
				nil,
				parser.ImportsOnly|parser.ParseComments,
			)
			if err != nil {
				t.Fatalf("%s does not parse: %v", name, err)
			}
			// A generator beside the package ("go:build ignore", package main) does not belong to
			// it.
			if src.Name.Name == listed.Name {
				p.files = append(p.files, inspect(t, name, src))
			}
		}
		if len(p.files) > 0 {
			pkgs = append(pkgs, p)
		}
	}
}

func inspect(t *testing.T, name string, src *ast.File) goFile {
	t.Helper()
	f := goFile{name: name, doc: strings.TrimSpace(src.Doc.Text()) != ""}
	for _, spec := range src.Imports {
		path, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatalf("%s: import %s: %v", name, spec.Path.Value, err)
		}
		f.imports = append(f.imports, path)
	}
	return f
}
