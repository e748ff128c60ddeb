package mcp

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptyctl/internal/lab"
	"ptyctl/internal/sshserver"
)

// A wrongCall is a call that models make, the parts of its answer that matter, and the call that the answer leads to.
// In arguments, $NAME is a value of the test's own. An empty tool of the second call is that of the first; without
// arguments there is no second call.
type wrongCall struct {
	tool, args string
	says       []string
	then       string // arguments
	by         string // tool
	gets       string // part of the second answer
}

const (
	openSession = `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":$PORT,"username":"$USER"}`
	status      = `{"action":"status","session_id":"$OPEN"}`
	echo        = `{"session_id":"$OPEN","cmd":"echo done"}`
	readOpen    = `{"action":"read","session_id":"$OPEN","cursor":"0"}`
)

// opening returns openSession with one more member.
func opening(member string) string { return strings.TrimSuffix(openSession, "}") + "," + member + "}" }

var wrongSessionCalls = []wrongCall{
	{tool: lab.ToolSession, args: `{}`, says: []string{"action is missing", "list"}, then: `{"action":"list"}`},
	{tool: lab.ToolSession, args: `{"protocol":"ssh","host":"127.0.0.1","port":$PORT,"username":"$USER"}`, says: []string{"action is missing", "those of open"}, then: openSession},
	{tool: lab.ToolSession, args: `{"session_id":"$OPEN"}`, says: []string{"action is missing", "those of status"}, then: status},
	{tool: lab.ToolSession, args: `{"action":5}`, says: []string{"must be a string", "list"}, then: `{"action":"list"}`},
	{tool: lab.ToolSession, args: `{"action":"opn","host":"127.0.0.1"}`, says: []string{"open", "protocol", "username"}, then: `{"action":"open","protocol":"ssh","host":"$USER@127.0.0.1:$PORT"}`},
	{tool: lab.ToolSession, args: `{"action":"connect","host":"127.0.0.1","port":$PORT}`, says: []string{"use ptyctl_session open", `"protocol":"ssh"`}, then: openSession},
	{tool: lab.ToolSession, args: `{"action":"disconnect","session_id":"$SPARE"}`, says: []string{"use ptyctl_session close", "$SPARE"}, then: `{"action":"close","session_id":"$SPARE"}`, gets: "closed"},
	{tool: lab.ToolSession, args: `{"action":"info","session_id":"$OPEN"}`, says: []string{"use ptyctl_session status"}, then: status},
	{tool: lab.ToolSession, args: `{"action":"exec","session_id":"$OPEN","cmd":"echo done"}`, says: []string{"use ptyctl_session_exec"}, by: lab.ToolExec, then: echo, gets: "done"},
	{tool: lab.ToolSession, args: `{"action":"read","session_id":"$OPEN"}`, says: []string{"use ptyctl_session_io read"}, by: lab.ToolIO, then: readOpen},
	{tool: lab.ToolSession, args: `{"action":"resize","session_id":"$OPEN","cols":100,"rows":30}`, says: []string{"use ptyctl_session_config resize"}, by: lab.ToolConfig, then: `{"action":"resize","session_id":"$OPEN","cols":100,"rows":30}`},
	{tool: lab.ToolSession, args: `{"action":"open","host":"127.0.0.1","port":$PORT,"username":"$USER"}`, says: []string{"protocol is missing", "ssh"}, then: openSession},
	{tool: lab.ToolSession, args: `{"action":"open","protocol":"ssh","hostname":"127.0.0.1","port":$PORT,"username":"$USER"}`, says: []string{"use host;"}, then: openSession},
	{tool: lab.ToolSession, args: `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":$PORT,"user":"$USER"}`, says: []string{"use username;"}, then: openSession},
	{tool: lab.ToolSession, args: `{"action":"open","type":"ssh","host":"127.0.0.1","port":$PORT,"username":"$USER"}`, says: []string{"use protocol;"}, then: openSession},
	{tool: lab.ToolSession, args: `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":$PASSWORDPORT,"username":"alice","password":"$PASSWORD"}`, says: []string{"use auth.password, a member of auth"}, then: `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":$PASSWORDPORT,"username":"alice","auth":{"password":"$PASSWORD"}}`, gets: `"state":"open"`},
	{tool: lab.ToolSession, args: `{"action":"open","protocol":"ssh","host":"ssh://alice:$PASSWORD@127.0.0.1","port":$PASSWORDPORT}`, says: []string{"holds a password", "username", "auth.password"}, then: `{"action":"open","protocol":"ssh","host":"127.0.0.1","username":"alice","port":$PASSWORDPORT,"auth":{"password":"$PASSWORD"}}`, gets: `"state":"open"`},
	{tool: lab.ToolSession, args: opening(`"cols":100`), says: []string{"use pty.cols, a member of pty"}, then: opening(`"pty":{"cols":100}`)},
	{tool: lab.ToolSession, args: opening(`"host_key_policy":"strict"`), says: []string{"use ssh_options.host_key_policy"}, then: opening(`"ssh_options":{"host_key_policy":"strict"}`)},
	{tool: lab.ToolSession, args: opening(`"connect_timeout_ms":5000`), says: []string{"use timeouts.connect_timeout_ms"}, then: opening(`"timeouts":{"connect_timeout_ms":5000}`)},
	{tool: lab.ToolSession, args: opening(`"timeout":5`), says: []string{"timeouts", "connect_timeout_ms"}, then: opening(`"timeouts":{"connect_timeout_ms":5000}`)},
	{tool: lab.ToolSession, args: opening(`"auth":"agent"`), says: []string{"auth must be a JSON object"}, then: opening(`"auth":{}`)},
	{tool: lab.ToolSession, args: opening(`"auth":{"method":"key"}`), says: []string{"use one of password, private_key, agent, auto"}, then: opening(`"auth":{"method":"auto"}`)},
	{tool: lab.ToolSession, args: opening(`"auth":{"method":"private_key"}`), says: []string{"needs auth.private_key_pem"}, then: opening(`"auth":{"method":"auto"}`)},
	{tool: lab.ToolSession, args: `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":"ssh","username":"$USER"}`, says: []string{"port must be a whole number"}, then: openSession},
	{tool: lab.ToolSession, args: `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":70000,"username":"$USER"}`, says: []string{"between 1 and 65535"}, then: openSession},
	{tool: lab.ToolSession, args: `{"action":"open","protocol":"ssh","host":"bob@127.0.0.1","port":$PORT,"username":"$USER"}`, says: []string{"host says username bob", "leave one of the two out"}, then: openSession},
	{tool: lab.ToolSession, args: `{"action":"open","protocol":"ssh","host":"127.0.0.1:22","port":$PORT,"username":"$USER"}`, says: []string{"host says port 22"}, then: openSession},
	{tool: lab.ToolSession, args: `{"action":"open","protocol":"telnet","host":"ssh://$USER@127.0.0.1:$PORT"}`, says: []string{"host says protocol ssh", "leave one of the two out"}, then: `{"action":"open","host":"ssh://$USER@127.0.0.1:$PORT"}`},
	{tool: lab.ToolSession, args: `{"action":"open","protocol":"ssh","host":"http://127.0.0.1","port":$PORT,"username":"$USER"}`, says: []string{`its scheme is "http"`, "a name or an address"}, then: openSession},
	{tool: lab.ToolSession, args: `{"action":"open","protocol":"ssh2","host":"127.0.0.1","port":$PORT,"username":"$USER"}`, says: []string{"use one of ssh, telnet, serial, local"}, then: openSession},
	{tool: lab.ToolSession, args: `{"action":"open","protocol":"local"}`, says: []string{"argv is missing", `["bash"]`}, then: `{"action":"open","protocol":"local","argv":["bash"]}`},
	{tool: lab.ToolSession, args: `{"action":"open","protocol":"local","host":"localhost","argv":["bash"]}`, says: []string{"host is for another machine", "leave it out"}, then: `{"action":"open","protocol":"local","argv":["bash"]}`},
	{tool: lab.ToolSession, args: `{"action":"open","protocol":"ssh","host":"127.0.0.1","port":$SILENTPORT,"username":"$USER","timeouts":{"connect_timeout_ms":30}}`, says: []string{"timeouts.connect_timeout_ms is in milliseconds", "30 s are 30000"}, then: opening(`"timeouts":{"connect_timeout_ms":30000}`)},
	{tool: lab.ToolSession, args: opening(`"argv":["bash"]`), says: []string{"argv is for protocol local", "leave it out"}, then: openSession},
	{tool: lab.ToolSession, args: opening(`"session_type":"console"`), says: []string{"needs device_id"}, then: opening(`"session_type":"console","device_id":"switch-001"`)},
	{tool: lab.ToolSession, args: opening(`"acquire_lock":true`), says: []string{"needs task_id"}, then: opening(`"acquire_lock":true,"task_id":"me"`), gets: `"lock_acquired":true`},
	{tool: lab.ToolSession, args: opening(`"expect":{"profile":"cisco"}`), says: []string{"cisco_ios"}, then: opening(`"expect":{"profile":"cisco_ios"}`)},
	{tool: lab.ToolSession, args: opening(`"profile":"cisco_ios"`), says: []string{"use expect.profile"}, then: opening(`"expect":{"profile":"cisco_ios"}`)},
	{tool: lab.ToolSession, args: opening(`"expect":{"prompt_regex":"(["}`), says: []string{"expect.prompt_regex", "RE2"}, then: opening(`"expect":{"prompt_regex":"[(]"}`)},
	{tool: lab.ToolSession, args: `{"action":"close"}`, says: []string{"session_id is missing"}, then: `{"action":"close","session_id":"$CLOSED"}`, gets: "already_closed"},
	{tool: lab.ToolSession, args: `{"action":"status","session_id":"web1-abcdefgh"}`, says: []string{"ptyctl_session list"}, then: `{"action":"list"}`, gets: "$OPEN"},
	{tool: lab.ToolSession, args: `{"action":"list","session_id":"$OPEN"}`, says: []string{"belongs to action", "status"}, then: status},
	{tool: lab.ToolSession, args: `{"action":"list","state":"running"}`, says: []string{"use one of", "open"}, then: `{"action":"list","state":"open"}`},
	{tool: lab.ToolSession, args: `{"action":"lock","session_id":"$SPARE2"}`, says: []string{"task_id is missing"}, then: `{"action":"lock","session_id":"$SPARE2","task_id":"me"}`},
	{tool: lab.ToolSession, args: `{"action":"signal","session_id":"$LOCAL","signal":"ctrl-c"}`, says: []string{`use signal "INT"`, `"key":"ctrl_c"`}, then: `{"action":"signal","session_id":"$LOCAL","signal":"INT"}`},
	{tool: lab.ToolSession, args: `{"action":"signal","session_id":"$LOCAL","signal":"^c"}`, says: []string{`use signal "INT"`}, then: `{"action":"signal","session_id":"$LOCAL","signal":"INT"}`},
	{tool: lab.ToolSession, args: `{"action":"signal","session_id":"$LOCAL","signal":"<C-c>"}`, says: []string{`use signal "INT"`}, then: `{"action":"signal","session_id":"$LOCAL","signal":"INT"}`},
	{tool: lab.ToolSession, args: `{"action":"signal","session_id":"$LOCAL"}`, says: []string{"signal is missing", `"signal":"INT"`}, then: `{"action":"signal","session_id":"$LOCAL","signal":"INT"}`},
	{tool: lab.ToolSession, args: `{"action":"signal","session_id":"$LOCAL","signal":"SIGFOO"}`, says: []string{"use one of INT, TERM"}, then: `{"action":"signal","session_id":"$LOCAL","signal":"INT"}`},
	{tool: lab.ToolSession, args: `{"action":"lock","session_id":"$LOCKED","task_id":"me"}`, says: []string{"other", "wait"}, then: `{"action":"status","session_id":"$LOCKED"}`},
}

var wrongExecCalls = []wrongCall{
	{tool: lab.ToolExec, args: `{"session_id":"$OPEN","command":"echo done"}`, says: []string{"use cmd;"}, then: echo, gets: "done"},
	{tool: lab.ToolExec, args: `{"session":"$OPEN","cmd":"echo done"}`, says: []string{"use session_id;"}, then: echo, gets: "done"},
	{tool: lab.ToolExec, args: `{"cmd":"echo done"}`, says: []string{"session_id is missing"}, then: echo, gets: "done"},
	{tool: lab.ToolExec, args: `{"session_id":"web1-abcdefgh","cmd":"ls"}`, says: []string{"ptyctl_session list"}, by: lab.ToolSession, then: `{"action":"list"}`, gets: "$OPEN"},
	{tool: lab.ToolExec, args: `{"session_id":"$OPEN"}`, says: []string{"cmd is empty"}, then: echo, gets: "done"},
	{tool: lab.ToolExec, args: `{"session_id":"$OPEN","cmd":"ls","exec_id":"$EXEC","wait_ms":0}`, says: []string{"exclude each other", "exec_id goes on with one"}, then: `{"session_id":"$OPEN","exec_id":"$EXEC","wait_ms":0}`, gets: "running"},
	{tool: lab.ToolExec, args: `{"session_id":"$OPEN","cmd":"echo","argv":["echo","done"]}`, says: []string{"exclude each other"}, then: `{"session_id":"$OPEN","argv":["echo","done"]}`, gets: "done"},
	{tool: lab.ToolExec, args: `{"session_id":"$OPEN","cmd":["echo","done","|","cat"]}`, says: []string{"cmd must be one string"}, then: `{"session_id":"$OPEN","cmd":"echo done | cat"}`, gets: "done"},
	{tool: lab.ToolExec, args: `{"session_id":"$OPEN","argv":"echo done"}`, says: []string{"argv must be an array of strings"}, then: `{"session_id":"$OPEN","argv":["echo","done"]}`, gets: "done"},
	{tool: lab.ToolExec, args: `{"session_id":"$OPEN","cmd":"echo done","timeout":30}`, says: []string{"use timeout_ms (milliseconds)"}, then: `{"session_id":"$OPEN","cmd":"echo done","timeout_ms":30000}`, gets: "done"},
	{tool: lab.ToolExec, args: `{"session_id":"$OPEN","cmd":"echo done","grep":"done"}`, says: []string{"use match;"}, then: `{"session_id":"$OPEN","cmd":"echo done","match":"done"}`, gets: "done"},
	{tool: lab.ToolExec, args: `{"session_id":"$OPEN","cmd":"echo done","context":2}`, says: []string{"give match"}, then: `{"session_id":"$OPEN","cmd":"echo done","match":"done","context":2}`, gets: "done"},
	{tool: lab.ToolExec, args: `{"session_id":"$OPEN","cmd":"echo done","timeout_ms":"soon"}`, says: []string{"must be a whole number"}, then: `{"session_id":"$OPEN","cmd":"echo done","timeout_ms":30000}`, gets: "done"},
	{tool: lab.ToolExec, args: `{"session_id":"$OPEN","cmd":"echo done","timeout_ms":-1}`, says: []string{"between 1 and"}, then: `{"session_id":"$OPEN","cmd":"echo done","timeout_ms":30000}`, gets: "done"},
	{tool: lab.ToolExec, args: `{"session_id":"$OPEN","cmd":"sleep 0.2; echo done","timeout_ms":30}`, says: []string{"milliseconds", "30 s are 30000"}, then: `{"session_id":"$OPEN","cmd":"sleep 0.2; echo done","timeout_ms":30000}`, gets: "done"},
	{tool: lab.ToolExec, args: `{"session_id":"$OPEN","cmd":"echo done","lane":"pty"}`, says: []string{"use one of auto, channel, terminal"}, then: `{"session_id":"$OPEN","cmd":"echo done","lane":"channel"}`, gets: "done"},
	{tool: lab.ToolExec, args: `{"session_id":"$OPEN","cmd":"echo done","env":["LC_A"]}`, says: []string{"NAME=value"}, then: `{"session_id":"$OPEN","cmd":"echo done","env":[]}`, gets: "done"},
	{tool: lab.ToolExec, args: `{"session_id":"$OPEN","cmd":"echo done","cancel":true}`, says: []string{"cancel needs exec_id"}, then: echo},
	{tool: lab.ToolExec, args: `{"session_id":"$OPEN","cancel":true}`, says: []string{"cancel needs exec_id"}, then: `{"session_id":"$OPEN","exec_id":"$EXEC","cancel":true}`},
	{tool: lab.ToolExec, args: `{"session_id":"$OPEN","exec_id":"exec-nosuch00"}`, says: []string{"no exec", "status"}, by: lab.ToolSession, then: status},
	{tool: lab.ToolExec, args: `{"session_id":"$TYPED","cmd":"pwd","cwd":"/tmp","lane":"terminal"}`, says: []string{"channel"}, then: `{"session_id":"$TYPED","cmd":"pwd","cwd":"/tmp","lane":"channel"}`, gets: "/tmp"},
	{tool: lab.ToolExec, args: `{"session_id":"$OPEN","cmd":"cat","stdin":"???","stdin_encoding":"base64"}`, says: []string{"not valid base64", "leave encoding out"}, then: `{"session_id":"$OPEN","cmd":"cat","stdin":"???"}`, gets: "???"},
	{tool: lab.ToolExec, args: `{"session_id":"$OPEN","cmd":"echo done","until_idle_ms":5000,"timeout_ms":1000}`, says: []string{"raise timeout_ms"}, then: `{"session_id":"$OPEN","cmd":"echo done","until_idle_ms":5000,"timeout_ms":10000}`, gets: "done"},
	{tool: lab.ToolExec, args: `{"session_id":"$OPEN","cmd":"echo done","background":true}`, says: []string{"use wait_ms"}, then: `{"session_id":"$OPEN","cmd":"echo done","wait_ms":0}`},
	{tool: lab.ToolExec, args: `{"session_id":"$OPEN","cmd":"cd /tmp"}`, says: []string{"had no lasting effect", "give cwd"}, then: `{"session_id":"$OPEN","cmd":"pwd","cwd":"/tmp"}`, gets: "/tmp"},
	{tool: lab.ToolExec, args: `{"session_id":"$TYPED","cmd":"export A=done","lane":"channel"}`, says: []string{"use lane terminal"}, then: `{"session_id":"$TYPED","cmd":"export A=done; echo $A","lane":"terminal"}`, gets: "done"},
	{tool: lab.ToolExec, args: `{"session_id":"$TYPED","cmd":"tty","lane":"channel"}`, says: []string{"needs a terminal", "lane terminal"}, then: `{"session_id":"$TYPED","cmd":"tty","lane":"terminal"}`, gets: "/dev/pts/"},
	{tool: lab.ToolExec, args: `{"session_id":"$CLOSED","cmd":"ls"}`, says: []string{"its output can still be read", "ptyctl_session open"}, by: lab.ToolIO, then: `{"action":"read","session_id":"$CLOSED"}`},
	{tool: lab.ToolExec, args: `{"session_id":"$LOCKED","cmd":"echo done"}`, says: []string{"task_id"}, then: `{"session_id":"$LOCKED","cmd":"echo done","task_id":"other"}`, gets: "done"},
	{tool: lab.ToolExec, args: `{"session_id":"$ASKING","cmd":"ls"}`, says: []string{"ptyctl_session_io write", "password"}, by: lab.ToolIO, then: `{"action":"write","session_id":"$ASKING","data":"$PASSWORD"}`, gets: `"state":"open"`},
}

var wrongIOCalls = []wrongCall{
	{tool: lab.ToolIO, args: `{"session_id":"$OPEN","data":"echo done\r"}`, says: []string{"those of write"}, then: `{"action":"write","session_id":"$OPEN","data":"echo done\r"}`},
	{tool: lab.ToolIO, args: `{"action":"send","session_id":"$OPEN","data":"\r"}`, says: []string{"use ptyctl_session_io write"}, then: `{"action":"write","session_id":"$OPEN","data":"\r"}`},
	{tool: lab.ToolIO, args: `{"action":"exec","session_id":"$OPEN","cmd":"echo done"}`, says: []string{"use ptyctl_session_exec"}, by: lab.ToolExec, then: `{"session_id":"$FRESH","cmd":"echo done"}`},
	{tool: lab.ToolIO, args: `{"action":"write","session_id":"$OPEN","input":"\r"}`, says: []string{"use data;"}, then: `{"action":"write","session_id":"$OPEN","data":"\r"}`},
	{tool: lab.ToolIO, args: `{"action":"write","session_id":"$OPEN","text":"\r"}`, says: []string{"use data;"}, then: `{"action":"write","session_id":"$OPEN","data":"\r"}`},
	{tool: lab.ToolIO, args: `{"action":"write","session_id":"$OPEN","data":"true","key":"Enter"}`, says: []string{`end data with \r`}, then: `{"action":"write","session_id":"$OPEN","data":"true\r"}`},
	{tool: lab.ToolIO, args: `{"action":"write","session_id":"$OPEN","data":"x","key":"ctrl_c"}`, says: []string{"write data alone, then key"}, then: `{"action":"write","session_id":"$OPEN","key":"ctrl_c"}`},
	{tool: lab.ToolIO, args: `{"action":"write","session_id":"$OPEN"}`, says: []string{"pass data"}, then: `{"action":"write","session_id":"$OPEN","data":"\r"}`},
	{tool: lab.ToolIO, args: `{"action":"write","session_id":"$OPEN","key":"ctrl_alt_del"}`, says: []string{"does not exist", "ctrl_a-ctrl_z"}, then: `{"action":"write","session_id":"$OPEN","key":"ctrl_c"}`},
	{tool: lab.ToolIO, args: `{"action":"write","session_id":"$OPEN","key":"hello"}`, says: []string{"any other text is data"}, then: `{"action":"write","session_id":"$OPEN","data":"hello"}`},
	{tool: lab.ToolIO, args: `{"action":"write","session_id":"$OPEN","data":"\\x03"}`, says: []string{`key \"ctrl_c\"`}, then: `{"action":"write","session_id":"$OPEN","key":"ctrl_c"}`},
	{tool: lab.ToolIO, args: `{"action":"write","session_id":"$OPEN","data":"true\\r"}`, says: []string{"one backslash"}, then: `{"action":"write","session_id":"$OPEN","data":"\r"}`},
	{tool: lab.ToolIO, args: `{"action":"write","session_id":"$OPEN","data":"%%%","encoding":"base64"}`, says: []string{"leave encoding out"}, then: `{"action":"write","session_id":"$OPEN","data":"%%%"}`},
	{tool: lab.ToolIO, args: `{"action":"write","session_id":"$OPEN","data":"\r","mode":"tail"}`, says: []string{"until_idle_ms"}, then: `{"action":"write","session_id":"$OPEN","data":"\r","mode":"tail","until_idle_ms":50}`},
	{tool: lab.ToolIO, args: `{"action":"read","session_id":"$OPEN","data":"ls\r"}`, says: []string{"belongs to action write"}, then: `{"action":"write","session_id":"$OPEN","data":"ls\r"}`},
	{tool: lab.ToolIO, args: `{"action":"read","session_id":"$OPEN","cursor":"end"}`, says: []string{"cursor", "0 for the oldest"}, then: `{"action":"read","session_id":"$OPEN","cursor":"0"}`},
	{tool: lab.ToolIO, args: `{"action":"read","session_id":"$OPEN","cursor":-1}`, says: []string{"next_cursor", "0 for the oldest"}, then: `{"action":"read","session_id":"$OPEN","cursor":"0"}`},
	{tool: lab.ToolIO, args: `{"action":"read","session_id":"$OPEN","lines":10}`, says: []string{"use max_lines;"}, then: `{"action":"read","session_id":"$OPEN","max_lines":10}`},
	{tool: lab.ToolIO, args: `{"action":"read","session_id":"$OPEN","cursor":"0","max_lines":10}`, says: []string{"mode tail", "takes no cursor"}, then: `{"action":"read","session_id":"$OPEN","mode":"tail","max_lines":10}`},
	{tool: lab.ToolIO, args: `{"action":"read","session_id":"$OPEN","mode":"tail","cursor":"0"}`, says: []string{"mode tail takes no cursor"}, then: `{"action":"read","session_id":"$OPEN","cursor":"0"}`},
	{tool: lab.ToolIO, args: `{"action":"read","session_id":"$OPEN","until":"x","cursor":"0"}`, says: []string{"use until_regex;"}, then: `{"action":"read","session_id":"$OPEN","until_regex":"[#$]","cursor":"0"}`},
	{tool: lab.ToolIO, args: `{"action":"read","session_id":"$OPEN","until_regex":"(","cursor":"0"}`, says: []string{"until_regex", "RE2"}, then: `{"action":"read","session_id":"$OPEN","until_regex":"[#$]","cursor":"0"}`},
	{tool: lab.ToolIO, args: `{"action":"read","session_id":"$OPEN","until_idle_ms":5000}`, says: []string{"raise timeout_ms"}, then: `{"action":"read","session_id":"$OPEN","until_idle_ms":50,"timeout_ms":6000}`},
	{tool: lab.ToolIO, args: `{"action":"read","session_id":"$OPEN","until_regex":"never","timeout_ms":2}`, says: []string{"milliseconds"}, then: `{"action":"read","session_id":"$OPEN","until_regex":"never","timeout_ms":1000}`},
	{tool: lab.ToolIO, args: `{"action":"read","session_id":"$OPEN","stream":"stderr"}`, says: []string{"needs exec_id", "leave it out for the terminal"}, then: readOpen},
	{tool: lab.ToolIO, args: `{"action":"tail","session_id":"$OPEN"}`, says: []string{"use ptyctl_session_io read"}, then: readOpen},
	{tool: lab.ToolIO, args: `{"action":"search","session_id":"$OPEN"}`, says: []string{"pattern is missing"}, then: `{"action":"search","session_id":"$OPEN","pattern":"x"}`},
	{tool: lab.ToolIO, args: `{"action":"search","session_id":"$OPEN","query":"x"}`, says: []string{"use pattern;"}, then: `{"action":"search","session_id":"$OPEN","pattern":"x"}`},
	{tool: lab.ToolIO, args: `{"action":"write","session_id":"$CLOSED","data":"ls\r"}`, says: []string{"its output can still be read"}, then: `{"action":"read","session_id":"$CLOSED"}`},
	{tool: lab.ToolIO, args: `{"action":"write","session_id":"$LOCKED","data":"\r"}`, says: []string{"task_id"}, then: `{"action":"write","session_id":"$LOCKED","data":"\r","task_id":"other"}`},
	{tool: lab.ToolConfig, args: `{"action":"resize","session_id":"$OPEN","width":100,"rows":30}`, says: []string{"use cols;"}, then: `{"action":"resize","session_id":"$OPEN","cols":100,"rows":30}`},
	{tool: lab.ToolConfig, args: `{"action":"resize","session_id":"$OPEN","cols":100,"rows":0}`, says: []string{"rows"}, then: `{"action":"resize","session_id":"$OPEN","cols":100,"rows":30}`},
	{tool: lab.ToolConfig, args: `{"action":"expect","session_id":"$OPEN","prompt_regex":"[#$] $"}`, says: []string{"use expect.prompt_regex"}, then: `{"action":"expect","session_id":"$OPEN","expect":{"prompt_regex":"[#$] $"}}`},
	{tool: lab.ToolConfig, args: `{"action":"show","session_id":"$OPEN"}`, says: []string{"ptyctl_session status"}, by: lab.ToolSession, then: status},
}

var wrongOtherCalls = []wrongCall{
	{tool: toolFiles, args: `{"action":"read","file":"$DIR/f"}`, says: []string{"use path;"}, then: `{"action":"read","path":"$DIR/f"}`, gets: "text"},
	{tool: toolFiles, args: `{"action":"cat","path":"$DIR/f"}`, says: []string{"use ptyctl_fs read"}, then: `{"action":"read","path":"$DIR/f"}`, gets: "text"},
	{tool: toolFiles, args: `{"action":"read","session_id":"","path":"$DIR/f"}`, says: []string{"leave it out"}, then: `{"action":"read","path":"$DIR/f"}`, gets: "text"},
	{tool: toolFiles, args: `{"action":"write","path":"$DIR/g","content":"x"}`, says: []string{"use data;"}, then: `{"action":"write","path":"$DIR/g","data":"x"}`},
	{tool: toolFiles, args: `{"action":"write","path":"$DIR/g","data":"x","mode":644}`, says: []string{"must be a string"}, then: `{"action":"write","path":"$DIR/g","data":"x","mode":"644"}`},
	{tool: toolFiles, args: `{"action":"write","path":"$DIR/g","data":"x","mode":"rw-r--r--"}`, says: []string{`\"0644\"`}, then: `{"action":"write","path":"$DIR/g","data":"x","mode":"0644"}`},
	{tool: toolFiles, args: `{"action":"list","session_id":"$FILES","path":"$DIR","timeout_ms":1}`, says: []string{"timeout_ms is in milliseconds", "1 s are 1000"}, then: `{"action":"list","session_id":"$FILES","path":"$DIR","timeout_ms":30000}`, gets: `"f"`},
	{tool: toolFiles, args: `{"action":"read","path":"$DIR/none"}`, says: []string{"list"}, then: `{"action":"list","path":"$DIR"}`, gets: `"f"`},
	{tool: lab.ToolRun, args: `{"command":"echo done"}`, says: []string{"use argv;"}, then: `{"argv":["echo","done"]}`, gets: "done"},
	{tool: lab.ToolRun, args: `{"argv":"echo done"}`, says: []string{"argv must be an array of strings"}, then: `{"argv":["echo","done"]}`, gets: "done"},
	{tool: lab.ToolRun, args: `{"argv":[]}`, says: []string{"argv", "go"}, then: `{"argv":["echo","done"]}`, gets: "done"},
	{tool: lab.ToolRun, args: `{"argv":["tty"]}`, says: []string{"ptyctl_session open", "protocol local"}, by: lab.ToolSession, then: `{"action":"open","protocol":"local","argv":["tty"]}`},
	{tool: "ptyctl_exec", args: `{"session_id":"$OPEN","cmd":"true"}`, says: []string{"use ptyctl_session_exec"}, by: lab.ToolExec, then: `{"session_id":"$FRESH","cmd":"true"}`},
	{tool: "ssh_execute", args: `{"host":"127.0.0.1","command":"true"}`, says: []string{"use ptyctl_session_exec", "session_id"}, by: lab.ToolExec, then: `{"session_id":"$FRESH","cmd":"true"}`},
	{tool: "ptyctl_session_open", args: `{"host":"127.0.0.1","port":1}`, says: []string{"use ptyctl_session open"}, by: lab.ToolSession, then: openSession},
	{tool: "send_keys", args: `{"keys":"C-c"}`, says: []string{"use ptyctl_session_io write", "session_id"}, by: lab.ToolIO, then: `{"action":"write","session_id":"$OPEN","data":"\r"}`},
	{tool: "ptyctl_session_close", args: `{"session_id":"$CLOSED"}`, says: []string{"use ptyctl_session close"}, by: lab.ToolSession, then: `{"action":"close","session_id":"$CLOSED"}`},
}

const toolFiles = "ptyctl_fs"

// Each wrong call gets an answer that leads to a right one: the second call uses no tool and no argument that is
// written neither in the first one nor in its answer, and succeeds.
func TestSecondCall(t *testing.T) {
	const password = "second-call-1138"
	s, dir := lab.StartSSHD(t, "Subsystem sftp /usr/lib/openssh/sftp-server"), t.TempDir()
	guarded := lab.ServeSSH(t, sshserver.Config{Passwords: map[string]string{"alice": password}})
	if err := os.WriteFile(filepath.Join(dir, "f"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	h := lab.HomeFor(t, []*lab.SSHD{s}, "[fs]", "roots = ['"+dir+"']", "remote = true")
	h.Trust(t, guarded.KnownHostsLine())
	c := h.Connect(t)
	c.Hide(password)
	value := map[string]string{
		"$PORT": fmt.Sprint(s.Port), "$USER": s.User, "$PASSWORDPORT": fmt.Sprint(guarded.Port()), "$PASSWORD": password, "$DIR": dir,
		"$OPEN": c.Open(t, s), "$TYPED": c.Open(t, s), "$CLOSED": c.Open(t, s), "$LOCKED": c.Open(t, s), "$SPARE": c.Open(t, s),
		"$SPARE2": c.Open(t, s), "$FRESH": c.Open(t, s), "$FILES": c.Open(t, s), "$SILENTPORT": fmt.Sprint(lab.Listen(t, lab.Silent)), "$LOCAL": c.OpenLocal(t, []string{"bash"}, ""),
	}
	c.Close(t, value["$CLOSED"])
	c.Call(t, lab.ToolSession, `{"action":"lock","session_id":%s,"task_id":"other"}`, value["$LOCKED"])
	value["$ASKING"] = c.Call(t, lab.ToolSession, lab.OpenSSH, guarded.Port(), "alice").SessionID
	value["$EXEC"] = c.Call(t, lab.ToolExec, `{"session_id":%s,"cmd":"sleep 60","wait_ms":0}`, value["$OPEN"]).ExecID
	var pairs []string
	for _, name := range []string{
		"$PASSWORDPORT", "$PASSWORD", "$SILENTPORT", "$PORT", "$FILES", "$USER", "$DIR", "$OPEN", "$TYPED", "$CLOSED",
		"$LOCKED", "$SPARE2", "$SPARE", "$FRESH", "$LOCAL", "$ASKING", "$EXEC",
	} {
		pairs = append(pairs, name, value[name])
	}
	fill := strings.NewReplacer(pairs...)
	n := checkSecondCalls(t, c.Tools, fill, wrongSessionCalls, wrongExecCalls, wrongIOCalls, wrongOtherCalls)
	if n < 80 {
		t.Errorf("the tables have %d wrong calls, want at least 80", n)
	}
	endPrograms(t, c)
}

// endPrograms closes the sessions of programs here: one that is left over would fail the test.
func endPrograms(t *testing.T, c *lab.Client) {
	t.Helper()
	for _, s := range c.Call(t, lab.ToolSession, `{"action":"list","protocol":"local","state":"open"}`).Sessions {
		c.Close(t, s.SessionID)
	}
}

// checkSecondCalls makes each wrong call, and the one that its answer leads to. It returns how many there are.
func checkSecondCalls(t *testing.T, c lab.Tools, fill *strings.Replacer, tables ...[]wrongCall) (n int) {
	t.Helper()
	call := func(tool, args string) (text string, failed bool) {
		a, err := c.CallTool(t.Context(), tool, json.RawMessage(fill.Replace(args)))
		if err != nil { // a tool that does not exist
			return err.Error(), true
		}
		return a.Content[0].Text, a.IsError
	}
	unescaped := strings.NewReplacer(`\"`, `"`, `\\`, `\`)
	for _, table := range tables {
		for _, w := range table {
			n++
			answer, failed := call(w.tool, w.args)
			if !failed && !strings.Contains(answer, `"warnings"`) {
				t.Errorf("%s %s succeeds without a word: %.400s", w.tool, w.args, answer)
			}
			for _, part := range w.says {
				if !strings.Contains(answer+unescaped.Replace(answer), fill.Replace(part)) {
					t.Errorf("%s %s: the answer lacks %q: %.1500s", w.tool, w.args, part, answer)
				}
			}
			if w.then == "" {
				continue
			}
			by := w.by
			if by == "" {
				by = w.tool
			}
			known := w.tool + " " + w.args + " " + answer
			for _, name := range append(names(t, fill.Replace(w.then)), by) { // a tool's name goes with the action's
				if !strings.Contains(known, name) && name != "action" {
					t.Errorf("%s %s: nothing leads to %q of the second call %s: %.1500s", w.tool, w.args, name, w.then, answer)
				}
			}
			if text, failed := call(by, w.then); failed || !strings.Contains(text, fill.Replace(w.gets)) {
				t.Errorf("after %s %s: %s %s gets %.1500s, want %q", w.tool, w.args, by, w.then, text, w.gets)
			}
		}
	}
	return n
}

// names returns the names of all members of an object and of those within it.
func names(t *testing.T, object string) (list []string) {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(object), &members); err != nil {
		t.Fatalf("%v in %s", err, object)
	}
	for name, value := range members {
		list = append(list, name)
		if value[0] == '{' {
			list = append(list, names(t, string(value))...)
		}
	}
	return list
}
