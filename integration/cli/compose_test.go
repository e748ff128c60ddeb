//go:build linux

package cli

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"ptyctl/internal/lab"
)

// A composeFile has the elements of the Compose Specification that ours uses, and no others.
type composeFile struct {
	Services map[string]struct {
		Image       string
		Command     []string
		Environment map[string]string
		Ports       []string
		Volumes     []string
		ReadOnly    bool `yaml:"read_only"`
		Tmpfs       []string
		CapDrop     []string `yaml:"cap_drop"`
		SecurityOpt []string `yaml:"security_opt"`
		Restart     string
	}
	Volumes map[string]struct{}
}

// TestCompose reads the compose file, and runs the program as it says: with its command and its environment, and with
// the files that its comment makes, at the paths of this machine.
func TestCompose(t *testing.T) {
	t.Parallel()
	text := lab.ReadFile(t, filepath.Join("..", "..", "packaging", "compose", "compose.yaml"))
	var file composeFile
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	if err := dec.Decode(&file); err != nil {
		t.Fatal(err)
	}
	s, ok := file.Services["ptyctl"]
	if !ok || len(file.Services) != 1 {
		t.Fatalf("the services are %v, want ptyctl alone", file.Services)
	}
	port := regexp.MustCompile(`^(?:[\d.]+:)?\d+:(\d+)$`)
	for _, p := range s.Ports {
		m := port.FindStringSubmatch(p)
		if m == nil || !strings.HasSuffix(s.Command[len(s.Command)-1], ":"+m[1]) {
			t.Errorf("the port %q does not lead to %q", p, s.Command)
		}
	}
	targets := map[string]string{}
	for _, v := range s.Volumes {
		parts := strings.Split(v, ":")
		if len(parts) < 2 {
			t.Fatalf("volume %q", v)
		}
		targets[parts[1]] = parts[0]
		if _, named := file.Volumes[parts[0]]; !named && !strings.HasPrefix(parts[0], "./") {
			t.Errorf("volume %q is neither named below volumes nor a folder here", v)
		}
	}
	dir := t.TempDir()
	made := script(t, string(text))
	cmd := exec.Command("/bin/sh", "-euc", made)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s\n%v\n%s", made, err, out)
	}

	command := slices.Clone(s.Command)
	command[len(command)-1] = "127.0.0.1:0"
	program := exec.Command(lab.PlainBinary, command...)
	program.Env = []string{"HOME=" + t.TempDir(), "XDG_RUNTIME_DIR=" + t.TempDir()}
	for name, value := range s.Environment {
		folder := targets[filepath.Dir(value)]
		if folder == "" {
			t.Errorf("%s: no volume has %s", name, value)
		}
		program.Env = append(program.Env, name+"="+filepath.Join(dir, folder, filepath.Base(value)))
	}
	log := lab.NewCapture()
	program.Stderr = log
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = program.Wait() }()
	defer func() { _ = program.Process.Signal(os.Interrupt); <-ended }()
	if !log.WaitFor("/mcp\n", ended) {
		t.Fatalf("the program does not serve:\n%s", log)
	}
	url := regexp.MustCompile(`https://\S+/mcp`).FindString(log.String())

	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(lab.ReadFile(t, filepath.Join(dir, "secrets", "cert.pem")))
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	defer client.CloseIdleConnections()
	token := strings.TrimSpace(strings.TrimPrefix(string(lab.ReadFile(t, filepath.Join(dir, "secrets", "tokens"))), "laptop:write:"))
	for authorization, want := range map[string]int{"": http.StatusUnauthorized, "Bearer " + token: http.StatusOK} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},`+
				`"clientInfo":{"name":"integration","version":"1"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{
			"Authorization": {authorization}, "Content-Type": {"application/json"},
			"Accept": {"application/json, text/event-stream"},
		}
		answer, err := client.Do(r)
		if err != nil {
			t.Fatalf("%v\n%s", err, log)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("with a token: %v: HTTP %d, want %d\n%s", authorization != "", answer.StatusCode, want, log)
		}
	}
}

// script returns the lines of the comment that make the files, without those that need root or an engine.
func script(t *testing.T, text string) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(text) {
		line, ok := strings.CutPrefix(line, "#\t")
		if !ok || strings.HasPrefix(line, "docker ") {
			continue
		}
		line, _, _ = strings.Cut(line, " && sudo ")
		b.WriteString(strings.TrimRight(line, "\n") + "\n")
	}
	if !strings.Contains(b.String(), "openssl") {
		t.Fatal("the comment of the compose file makes no certificate")
	}
	return b.String()
}
