package sshconfig_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"ptyctl/sshx/sshconfig"
)

const exampleFile = `
Host web*
  HostName %h.example.com
  User deploy
  ProxyJump ops@bastion:2222
Host *
  ServerAliveInterval 30s
  Frobnicate yes
`

func Example() {
	dir, err := os.MkdirTemp("", "sshconfig")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "config")
	if err := os.WriteFile(file, []byte(exampleFile), 0o600); err != nil {
		fmt.Println(err)
		return
	}

	extra, err := sshconfig.ParseExtraArgs([]string{"-4C", "-o", "BatchMode=yes"})
	if err != nil {
		fmt.Println(err)
		return
	}
	cfg, err := sshconfig.Evaluate(context.Background(), sshconfig.Options{
		Host: "web1", Overrides: extra.Overrides, UserFile: file, SystemFile: "none",
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cfg.User, cfg.HostName, cfg.Port, cfg.ProxyJump)
	fmt.Println(cfg.BatchMode, cfg.Origin("BatchMode"), cfg.Origin("BatchMode").Caller())
	fmt.Println(cfg.Origin("User").Line, cfg.Origin("User").Caller())
	for _, w := range cfg.Warnings {
		fmt.Println(w.Origin.Line, w.Keyword)
	}
	// Output:
	// deploy web1.example.com 22 [ops@bastion:2222]
	// true extra arguments true
	// 4 false
	// 8 Frobnicate
}
