package sshconfig

import (
	"fmt"
	"strings"
	"testing"
)

// The file has 500 hosts; the last one is evaluated, with defaults.
func BenchmarkEvaluate(b *testing.B) {
	var text strings.Builder
	for i := range 500 {
		fmt.Fprintf(
			&text,
			"Host host%d *.site%d.example.com\n  HostName 10.0.%d.%d\n  User user%d\n  IdentityFile ~/.ssh/key%d\n  ProxyJump gw%d\n\n",
			i,
			i,
			i/256,
			i%256,
			i,
			i,
			i%10,
		)
	}
	text.WriteString("Host *\n  ServerAliveInterval 30\n  SendEnv LANG LC_*\n")
	o := options(b)
	o.Host = "host499"
	o.UserFile = write(b, b.TempDir(), "config", text.String())
	b.SetBytes(int64(text.Len()))
	b.ReportAllocs()
	for b.Loop() {
		cfg, err := Evaluate(b.Context(), o)
		if err != nil || cfg.User != "user499" {
			b.Fatal(cfg, err)
		}
	}
}
