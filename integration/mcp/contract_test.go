package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"golang.org/x/crypto/ssh"

	"ptyctl/internal/lab"
	"ptyctl/internal/leaktest"
	"ptyctl/internal/sshserver"
)

// A contractCase is a call as clients written for the four tools make it, and the members that they read in its answer.
// In arguments, $NAME is a value of the test's own, or a value from an earlier call.
type contractCase struct {
	about      string
	tool, args string
	keep       string // as in answerCase
	code       string // of the error that the call ends with
	// The members, by their paths: name:type, name:type|type, name=value, name>number, or name! for a member that must
	// not be there. A type is that of JSON.
	has string
	// Departures from the expectations of clients, with reasons.
	departs string
}

// TestContract makes the calls of contractCases with results = full, and looks for each member under its name, in the
// text and in the structured content. All arguments, members and errors of the contract must occur in some case.
func TestContract(t *testing.T) {
	t.Parallel()
	site := newAnswerSite(t)
	site.reset()
	values := newContractHosts(t, site)
	c := site.home.Connect(t, "--results", "full")
	schemas := outputSchemas(t, c)
	given, seen, codes := make(map[string]bool), make(map[string]bool), make(map[string]bool)
	for _, tt := range contractCases {
		args := os.Expand(tt.args, func(name string) string {
			value, ok := values[name]
			if !ok {
				t.Fatalf("%s: the test has no value %s", tt.about, name)
			}
			return value
		})
		note(given, tt.tool, json.RawMessage(args))
		reply := site.answer(c.Tools, tt.tool, args)
		text := reply.Content[0].Text
		if tt.keep != "" {
			at := keeping[tt.keep[0]].FindStringSubmatch(text)
			if at == nil {
				t.Fatalf("%s: %s %s = %s, want something to keep as %s", tt.about, tt.tool, args, text, tt.keep)
			}
			values[tt.keep] = at[1]
		}
		var answer map[string]any
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatalf("%s: %s %s = %s: %v", tt.about, tt.tool, args, text, err)
		}
		checkStructured(t, schemas[tt.tool], answer, reply.StructuredContent)
		code, _ := answer["error_code"].(string)
		if codes[code] = true; code != tt.code {
			t.Errorf("%s: %s %s = %s, want the error %q", tt.about, tt.tool, args, lab.Tail(text, 1000), tt.code)
			continue
		}
		for member := range strings.FieldsSeq(os.Expand(tt.has, func(name string) string { return values[name] })) {
			path, fault := contractMember(answer, member)
			if seen[tt.tool+" "+path] = true; fault != "" {
				t.Errorf("%s: %s %s: %s: %s (%s)", tt.about, tt.tool, args, fault, lab.Tail(text, 1500), tt.departs)
			}
		}
	}
	for _, list := range []struct {
		what string
		want map[string]string
		in   map[string]bool
	}{{"argument", contractArguments, given}, {"member", contractResults, seen}} {
		for tool, names := range list.want {
			for name := range strings.FieldsSeq(names) {
				if !list.in[tool+" "+name] {
					t.Errorf("no case has the %s %s of %s", list.what, name, tool)
				}
			}
		}
	}
	for code := range strings.FieldsSeq(contractErrors) {
		if !codes[code] {
			t.Errorf("no case ends with %s", code)
		}
	}
}

// TestContractKeys types each key that clients may name, and counts its bytes.
func TestContractKeys(t *testing.T) {
	t.Parallel()
	c := lab.ConnectLocal(t)
	id := c.OpenLocal(t, []string{"sh", "-c", "stty raw -echo; echo ready; exec od -An -v -tx1 -w1"}, "")
	c.Expect(t, id, "ready")
	for key, bytes := range contractKeys {
		var lines strings.Builder // od writes each byte as a line
		for _, b := range []byte(bytes) {
			fmt.Fprintf(&lines, " %02x\\s+", b)
		}
		r := c.Call(t, lab.ToolIO, `{"session_id":%s,"action":"write","key":%s,"until_regex":%s,"timeout_ms":20000}`, id, key,
			"^"+lines.String()+"$")
		if r.BytesWritten != len(bytes) || !r.Matched {
			t.Errorf("the key %s sends %q, %d bytes, want %q", key, r.Chunk, r.BytesWritten, bytes)
		}
	}
	c.Close(t, id)
}

// TestContractErrors asks for failures as JSON-RPC errors, with the code and the data that clients read.
func TestContractErrors(t *testing.T) {
	t.Parallel()
	c := lab.NewHome(t).Converse(t, "--jsonrpc-errors")
	c.Ask(lab.ToolSession, `{"action":"status","session_id":"web1-aaaaaaaa"}`)
	var reply struct {
		Error struct {
			Code    int
			Message string
			Data    struct {
				ErrorCode string `json:"error_code"`
			}
		}
	}
	line := c.Next().Line
	if err := json.Unmarshal(line, &reply); err != nil || reply.Error.Code != 1010 || reply.Error.Message == "" ||
		reply.Error.Data.ErrorCode != "NOT_FOUND" {
		t.Errorf("a status of no session = %s (%v), want the error 1010 with NOT_FOUND in its data", line, err)
	}
}

// outputSchemas returns the schemas of results, by tool.
func outputSchemas(t *testing.T, c *lab.Client) map[string]*jsonschema.Resolved {
	t.Helper()
	list, err := c.Session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	schemas := make(map[string]*jsonschema.Resolved)
	for _, tool := range list.Tools {
		raw, err := json.Marshal(tool.OutputSchema)
		if err != nil {
			t.Fatal(err)
		}
		if schemas[tool.Name], err = resolved(raw); err != nil {
			t.Fatalf("the output schema of %s is %s: %v", tool.Name, raw, err)
		}
	}
	return schemas
}

// checkStructured checks that the structured content of an answer is its text, and fits the schema of the tool.
func checkStructured(t *testing.T, schema *jsonschema.Resolved, answer map[string]any, structured json.RawMessage) {
	t.Helper()
	var content map[string]any
	if err := json.Unmarshal(structured, &content); err != nil || !reflect.DeepEqual(content, answer) {
		t.Errorf("the structured content %s is not the text %v (%v)", lab.Tail(string(structured), 500), answer, err)
	}
	if err := schema.Validate(content); err != nil {
		t.Errorf("the answer %s does not fit its schema: %v", lab.Tail(string(structured), 500), err)
	}
}

// note adds the paths of all members of an object.
func note(to map[string]bool, prefix string, object json.RawMessage) {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil {
		return
	}
	separator := " "
	if strings.Contains(prefix, " ") {
		separator = "."
	}
	for name, value := range members {
		to[prefix+separator+name] = true
		note(to, prefix+separator+name, value)
	}
}

// contractMember looks for a member that a case describes, and returns its path and its fault.
func contractMember(answer map[string]any, member string) (path, fault string) {
	at := strings.IndexAny(member, ":=>!")
	path = member[:at]
	var value any = answer
	found := true
	for part := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value, found = v[part]
		case []any:
			n, err := strconv.Atoi(part)
			if found = err == nil && n < len(v); found {
				value = v[n]
			}
		default:
			found = false
		}
		if !found {
			break
		}
	}
	want := member[at+1:]
	switch member[at] {
	case '!':
		if found {
			return path, "the answer has " + path
		}
		return path, ""
	case '=':
		got, _ := json.Marshal(value)
		if !found || string(got) != want {
			return path, path + " = " + string(got) + ", want " + want
		}
	case '>':
		least, err := strconv.ParseFloat(want, 64)
		if got, ok := value.(float64); err != nil || !ok || got <= least {
			return path, path + " is not greater than " + want
		}
	case ':':
		if got := jsonType(value); !found || !slices.Contains(strings.Split(want, "|"), got) {
			return path, path + " is of type " + got + ", want " + want
		}
	}
	return path, ""
}

// jsonType returns the name of a value's type in JSON.
func jsonType(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case string:
		return "string"
	case float64:
		return "number"
	case bool:
		return "boolean"
	case []any:
		return "array"
	}
	return "object"
}

// newContractHosts starts more hosts, and returns the values for the arguments of contractCases.
func newContractHosts(t *testing.T, site *answerSite) map[string]string {
	t.Helper()
	key, other := lab.NewKey(t, "ed25519"), lab.NewKey(t, "ed25519")
	const password, passphrase = "a-contract-1138", "a-phrase-1138"
	leaktest.Secret(t, passphrase)
	guarded := lab.ServeSSH(t, sshserver.Config{
		Passwords: map[string]string{"admin": password}, AuthorizedKeys: []ssh.PublicKey{key.PublicKey()},
		Banner: "authorized use only\n",
	})
	stranger := lab.ServeSSH(t, sshserver.Config{NoAuth: true})
	changed := lab.ServeSSH(t, sshserver.Config{NoAuth: true})
	site.home.Trust(t, guarded.KnownHostsLine(), lab.KnownHostsLine(changed.Port(), other))
	site.home.Write(t, site.home.Config, string(lab.ReadFile(t, site.home.Config))+
		"[session]\noutput_buffer_max_bytes = 65536\n")
	known := filepath.Join(site.home.Dir, "known")
	site.home.Write(t, known, stranger.KnownHostsLine()+"\n")
	config := filepath.Join(site.home.Dir, "config")
	site.home.Write(t, config, "Host lab\n HostName 127.0.0.1\n Port "+strconv.Itoa(guarded.Port())+"\n User admin\n")
	quoted := func(text string) string {
		b, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return string(bytes.Trim(b, `"`))
	}
	values := maps.Clone(site.ports)
	maps.Copy(values, map[string]string{
		"PORT": strconv.Itoa(guarded.Port()), "STRANGER": strconv.Itoa(stranger.Port()),
		"CHANGED": strconv.Itoa(changed.Port()), "SILENT": strconv.Itoa(lab.Listen(t, lab.Silent)),
		"SECRET": password, "KEY": quoted(key.PEM), "LOCKEDKEY": quoted(key.Encrypted(t, passphrase)), "PHRASE": passphrase,
		"PIN": ssh.FingerprintSHA256(stranger.HostKey()), "KNOWN": quoted(known), "CONFIG": quoted(config),
	})
	return values
}
