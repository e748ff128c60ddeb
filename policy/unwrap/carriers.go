package unwrap

import (
	"slices"
	"strings"

	"ptyctl/policy/grammar"
)

// carriers holds programs with so many ways to run others that the arguments
// cannot be parsed: a command may be at any position, and inside any text. A
// deny rule is therefore searched for everywhere in their arguments.
var carriers = grammar.SetOf(`
	agetty chpst choom chroot coresched cttyhack enosys flock inotifyd login newgrp nologin nsenter openvt pipesz
	pivot_root prlimit runcon runuser script scriptlive setpriv sg sulogin switch_root telnetd getty udhcpc
	unshare

	beesu calife dzdo gksu gksudo kdesu kdesudo lxsu pbrun pfexec pkexec please run0 su-exec sudo-rs gosu

	fd fdfind lckdo mispipe parallel pee rlwrap rush sem ts tsp zargs zrun entr fswatch watchexec nodemon reflex
	hyperfine multitime nq

	argv0 background catatonit dumb-init envdir envuidgid execlineb fghack foreground multilog pgrphack runsv
	runsvdir setlock setuidgid softlimit start-stop-daemon supervise svlogd tcpclient tcpserver tcpsvd tini udpsvd
	daemon daemonize detach dtach abduco run-parts supervisord pm2 foreman honcho overmind

	apptainer balena bastille bwrap buildah colima crictl crun ctr distrobox docker docker-compose firejail
	flatpak incus iocage jexec lima limactl lxc machinectl microk8s minikube multipass nerdctl nomad pct podman
	podman-compose proot prlctl qm runc schroot singularity systemd-nspawn toolbox vagrant vmrun vserver vzctl
	waydroid wsl youki zlogin adb

	ansible ansible-console autossh bolt clush dsh fly flyctl gcloud heroku k0s k3s kind knife kubectl mosh oc
	parallel-ssh pdsh pssh puppet railway remsh rexec rsh salt salt-call salt-ssh slogin ssh-agent sshfs sshpass

	bpftrace catchsegv dtrace dtruss gdb gdb-multiarch gdbserver gdbtui heaptrack ktrace latrace lldb lldb-server
	ltrace memusage operf perf rr sotruss stap strace trace-cmd truss uftrace valgrind

	ant bazel bear buck bun bundle bunx cabal cargo ccache checkinstall cmake compiledb conda corepack cross
	distcc direnv dotnet go gmake gradle guix hatch icecc intercept-build invoke just lein lerna libtool mage make
	mamba meson micromamba mise mix mvn ninja nix nix-shell nodenv nox npm npx nvm nx opam pants pdm pipenv pipx
	pnpm poetry pyenv rake rbenv rebar3 rtx rustup rye samu sbt scan-build sccache scons stack task tox turbo uv
	uvx volta waf yarn asdf

	aws-vault cgexec chamber consul cowdancer cpulimit datefudge dbus-launch dbus-run-session doppler eatmydata
	envconsul etcdctl faketime fakechroot gpg-agent gpg-connect-agent ip keychain numactl op proxychains
	proxychains4 sops systemd-cat systemd-dissect systemd-inhibit systemd-run systemd-socket-activate
	systemd-vmspawn teller tsocks vault with-contenv capsh cgrun

	alacritty byobu dvtm foot gnome-terminal kitty konsole lxterminal mate-terminal mlterm rxvt screen startx st
	terminator tilix tmate tmux urxvt wezterm x-terminal-emulator xfce4-terminal xinit xterm xvfb-run zellij

	nc ncat netcat socat lftp

	mongosh mongo cqlsh sqlplus clickhouse-client duckdb pgcli mycli

	box64 box86 wine wine64 unicorn

	add-zsh-hook abbr bind bindkey commandline compgen complete compdef emit emulate hup onintr vared zle zpty
	zsocket
`)

// readers holds editors and pagers. Their operands are files, but a text among
// the arguments may be a command for the program, and that may be one for a
// shell.
var readers = grammar.SetOf(
	"less more most pg view rview rvim vimdiff gvim gview vimtutor nvi elvis jed joe micro kak helix hx nano pico " +
		"emacsclient mutt neomutt mail mailx s-nail w3m lynx elinks ranger mc lf nnn fzf sk ftp",
)

// carrierPrefixes holds the beginnings of names of whole families of carriers,
// for example the loaders of dynamic programs (they take a program and its
// arguments), emulators, and the parts of s6 and LXC.
var carrierPrefixes = strings.Fields(
	"ld-linux ld-musl- ld-uclibc ld-elf ld64.so ld.so ld-2. ld- qemu- s6- lxc- systemd-run scan-build-",
)

// isCarrier reports whether a program runs commands in its arguments. The name
// may end in a version.
func isCarrier(name string) bool {
	return carriers[name] || carriers[family(name)] ||
		slices.ContainsFunc(carrierPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// personalities holds the names under which setarch(8) may be called.
var personalities = grammar.SetOf(`
	linux32 linux64 uname26 i386 i486 i586 i686 athlon x86_64 ppc ppcle ppc32 ppc64 ppc64le s390 s390x sparc
	sparc32 sparc32bash sparc64 mips mips32 mips64 alpha parisc parisc64 ia64 arm armv6l armv7l armv8l armh arm64
	aarch64 riscv32 riscv64 e2k loongarch64
`)

// runnerNamed returns how to find the command in the arguments of a program
// that runs others.
func runnerNamed(name string) (runner, bool) {
	if personalities[name] {
		run := runners["setarch"]
		run.lead = false
		return run, true
	}
	run, ok := runners[name]
	return run, ok
}
