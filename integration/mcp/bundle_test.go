package mcp

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptyctl/internal/lab"
)

// TestBundle packs the program as an MCP bundle, lets the official tool validate and unpack it, and starts the command
// that the bundle names.
func TestBundle(t *testing.T) {
	t.Parallel()
	node, dir := installedNode(t), t.TempDir()
	const url = "https://example.net/releases/v1.2.3"
	bundler := filepath.Join(dir, "bundler")
	build := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", bundler, "ptyctl/scripts/bundle")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build.Args, err, out)
	}
	bundle := packBundle(t, bundler, filepath.Join(dir, "a"), url)
	if again := packBundle(t, bundler, filepath.Join(dir, "b"), url); !bytes.Equal(
		lab.ReadFile(t, bundle),
		lab.ReadFile(t, again),
	) {
		t.Error("the same program makes two bundles")
	}
	unpacked := filepath.Join(dir, "unpacked")
	for _, args := range [][]string{
		{"unpack", bundle, unpacked}, {"validate", filepath.Join(unpacked, "manifest.json")}, {"info", bundle},
	} {
		if out, err := node.command(t, "mcpb", args...).CombinedOutput(); err != nil {
			t.Fatalf("mcpb %v: %v\n%s", args, err, out)
		}
	}
	var manifest struct {
		Version string
		Server  struct {
			EntryPoint string `json:"entry_point"`
			Config     struct {
				Command string
				Args    []string
				Env     map[string]string
			} `json:"mcp_config"`
		}
		UserConfig map[string]struct{ Default json.RawMessage } `json:"user_config"`
		Tools      []struct{ Name, Description string }
	}
	if err := json.Unmarshal(lab.ReadFile(t, filepath.Join(unpacked, "manifest.json")), &manifest); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(unpacked, manifest.Server.EntryPoint)); err != nil || manifest.Version != "1.2.3" {
		t.Errorf("%v: %+v", err, manifest)
	}
	// Replace ${...} as the client of a bundle does.
	values := []string{"${__dirname}", unpacked}
	for name, setting := range manifest.UserConfig {
		values = append(values, "${user_config."+name+"}", string(setting.Default))
	}
	fill := strings.NewReplacer(values...)
	env := lab.NewHome(t).Command().Env
	for name, value := range manifest.Server.Config.Env {
		env = append(env, name+"="+fill.Replace(value))
	}
	c := startTypescript(
		t,
		env,
		append([]string{"stdio", fill.Replace(manifest.Server.Config.Command)}, manifest.Server.Config.Args...)...)
	var list struct {
		Tools []struct{ Name, Description string }
	}
	if err := json.Unmarshal(c.list, &list); err != nil {
		t.Fatal(err)
	}
	for i := range list.Tools {
		list.Tools[i].Description, _, _ = strings.Cut(list.Tools[i].Description, "\n")
	}
	if !slices.Equal(list.Tools, manifest.Tools) {
		t.Errorf("the bundle lists the tools %v, want the program's %v", manifest.Tools, list.Tools)
	}
	if r := c.Call(t, lab.ToolSession, `{"action":"list"}`); len(r.Sessions) != 0 {
		t.Errorf("list: %s", r.Text)
	}
}

// packBundle packs the program under test, and checks the entry for the registry.
func packBundle(t *testing.T, bundler, dir, url string) (bundle string) {
	t.Helper()
	cmd := exec.Command(bundler, "-version", "1.2.3", "-url", url, "-out", dir, "linux-amd64="+lab.PlainBinary)
	cmd.Dir = filepath.Join("..", "..") // server.json is at the root of the module
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	var registry struct {
		Version  string
		Packages []struct{ RegistryType, Identifier, FileSHA256 string }
	}
	if err := json.Unmarshal(lab.ReadFile(t, filepath.Join(dir, "server.json")), &registry); err != nil ||
		len(registry.Packages) != 1 {
		t.Fatalf("server.json: %v: %+v", err, registry)
	}
	p := registry.Packages[0]
	bundle = filepath.Join(dir, strings.TrimPrefix(p.Identifier, url+"/"))
	if registry.Version != "1.2.3" || p.RegistryType != "mcpb" || p.FileSHA256 != sha256Of(lab.ReadFile(t, bundle)) {
		t.Errorf("server.json: %+v", registry)
	}
	return bundle
}
