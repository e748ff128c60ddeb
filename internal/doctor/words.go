package doctor

import (
	"runtime"
	"strings"

	"ptyctl/quote"
)

// The words of advice that differ between systems.
type words struct {
	startAgent  string // commands that start an SSH agent and give it a key
	noAgent     string // why there is no agent
	installKey  string // how a public key gets to a host
	recordHost  string // how a host gets into the file named after it
	ownFolder   string // advice where there is no folder for sockets
	otherFolder string // advice about the folder of another user
	show        func(args []string) string
}

// here has the words of this system.
var here = wordsOf(runtime.GOOS)

// wordsOf returns the words of a system.
func wordsOf(goos string) words {
	if goos == "windows" {
		return words{
			startAgent:  "Start-Service ssh-agent; ssh-add (once before, as an administrator: Set-Service ssh-agent -StartupType Manual)",
			noAgent:     "neither the service ssh-agent nor Pageant runs, or IdentityAgent is none",
			installKey:  `put a line with the text of id_ed25519.pub at the end of ~/.ssh/authorized_keys there`,
			recordHost:  "connect once with ssh, and compare the fingerprint that it shows; that records the host in ",
			ownFolder:   `correct the folder of local data of your account, %LOCALAPPDATA%`,
			otherFolder: "remove the folder, or have an administrator make it yours: takeown /f FOLDER",
			show:        showForWindows,
		}
	}
	return words{
		startAgent:  `eval "$(ssh-agent)" && ssh-add`,
		noAgent:     "SSH_AUTH_SOCK is not set, or IdentityAgent is none",
		installKey:  "put it on the host with: ssh-copy-id HOST",
		recordHost:  "connect once with ssh, or record a host, after comparing its fingerprint, with: ssh-keyscan HOST >> ",
		ownFolder:   "set XDG_RUNTIME_DIR to a folder of your own with mode 0700",
		otherFolder: "remove the folder, or make it yours alone with: chmod 700",
		show:        quote.Show,
	}
}

// showForWindows shows a command line that cmd.exe and PowerShell read alike: arguments with spaces are in quotation
// marks. A path has none itself.
func showForWindows(args []string) string {
	shown := make([]string, len(args))
	for i, a := range args {
		if shown[i] = a; a == "" || strings.ContainsAny(a, " \t&()^;,='`@{}[]") {
			shown[i] = `"` + a + `"`
		}
	}
	return strings.Join(shown, " ")
}
