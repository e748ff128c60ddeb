package lab

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
)

// A Device is the command line of a switch, as a program that servers start for their clients: its configuration is
// kept in files, a reload asks twice and takes the server down, and a change is undone if it is not confirmed. All that
// it does later, it does when TimePasses says so.
type Device struct {
	Program string
	dir     string
}

// NewDevice writes the program, with a configuration that is saved.
func NewDevice(tb testing.TB) *Device {
	tb.Helper()
	d := &Device{dir: tb.TempDir()}
	for _, name := range []string{"running", "startup"} {
		if err := os.WriteFile(filepath.Join(d.dir, name), []byte("hostname r1\ninterface mgmt0\n"), 0o600); err != nil {
			tb.Fatal(err)
		}
	}
	d.Program = writeScript(tb, d.dir, "device", "dir='"+d.dir+"'\n"+deviceScript)
	return d
}

// TimePasses has the device do its pending work: start again after a reload, and undo a change that is not confirmed.
func (d *Device) TimePasses(tb testing.TB) {
	tb.Helper()
	if err := os.WriteFile(filepath.Join(d.dir, "later"), nil, 0o600); err != nil {
		tb.Fatal(err)
	}
	done := filepath.Join(d.dir, "done")
	Eventually(tb, "the device has done its pending work", func() bool { return os.Remove(done) == nil })
}

// StartDevice starts busybox's telnetd for a device. It ends when the device goes down.
func StartDevice(tb testing.TB) (*TelnetServer, *Device) {
	tb.Helper()
	d := NewDevice(tb)
	program := Unpacked(tb, "busybox-static", "bin/busybox")
	p, port := startTelnet(tb, func(port int) []string {
		return []string{program, "telnetd", "-F", "-b", "127.0.0.1", "-p", strconv.Itoa(port), "-f", "/dev/null", "-l", d.Program}
	})
	return &TelnetServer{
		Name: "device", Port: port, Login: `Password: $`, Password: devicePassword, Prompt: `#$`, Process: p,
	}, d
}

// devicePassword is asked for over Telnet.
const devicePassword = "a-switch-secret-1138"

// deviceScript follows the words of Cisco IOS XE, as far as the tests need it.
const deviceScript = `
[ -z "$SSH_ORIGINAL_COMMAND" ] || { echo '% exec is not supported'; exit 1; }
if [ -z "$SSH_CONNECTION" ]; then
	printf '\nUser Access Verification\n\nPassword: '
	stty -echo; read -r password || exit 1; stty echo; echo
	[ "$password" = '` + devicePassword + `' ] || { echo '% Bad passwords'; exit 1; }
fi
name() { sed -n 's/^hostname //p' "$dir/running"; }
# later SCRIPT: when the time has passed, also if this connection is gone by then
trap '' HUP
terminal=$(tty) || terminal=/dev/null
later() {
	touch "$dir/waiting"
	setsid sh -c 'while [ ! -e "$1/later" ]; do [ -e "$1/waiting" ] || exit; sleep 0.02; done
rm "$1/later" "$1/waiting"; '"$1"'; touch "$1/done"' sh "$dir" "$terminal" $$ </dev/null >/dev/null 2>&1 &
}
down() { kill $PPID; exit; }
key() { stty -icanon; key=$(dd bs=1 count=1 2>/dev/null); stty icanon; }
# Another connection may have the terminal by then.
undo='cp "$1/backup" "$1/running"
kill -0 "$3" && printf "\n%%ARCHIVE_DIFF-5-ROLLBK_CNFMD_CHG_ROLLBACK_START: Start rolling to: flash:backup\n$(sed -n "s/^hostname //p" "$1/running")#" >"$2"'
mode=
while printf '%s%s#' "$(name)" "$mode"; read -r line; do
	case $line in
	'') ;;
	'terminal '*) ;;
	'show running-config')
		looks=$(($(cat "$dir/looks" 2>/dev/null || echo 0) + 1)); echo $looks >"$dir/looks"
		printf 'Building configuration...\n\nCurrent configuration : %d bytes\n!\n' $((1000 + looks))
		printf '! Last configuration change at 13:05:%02d UTC Mon Mar 1 2021 by admin\n!\n' $looks
		cat "$dir/running"; echo end ;;
	'show archive config rollback timer')
		if [ -e "$dir/waiting" ]; then echo 'Time configured(or reconfigured): 13:05:32 UTC Mon Mar 1 2021'
		else echo '%No Rollback Confirmed Change pending'; fi ;;
	'configure terminal') mode='(config)' ;;
	'configure terminal revert timer '*)
		mode='(config)'; cp "$dir/running" "$dir/backup"
		echo 'Rollback Confirmed Change: Backing up current running config to flash:backup'
		later "$undo" ;;
	'configure confirm') rm -f "$dir/waiting" ;;
	'hostname '*)
		sed -i "s/^hostname .*/$line/" "$dir/running" ;;
	'interface mgmt0') mode='(config-if)' ;;
	shutdown)
		sed -i 's/^interface mgmt0/&\n shutdown/' "$dir/running"; down ;;
	end) mode= ;;
	'write memory') cp "$dir/running" "$dir/startup"; echo 'Building configuration...'; echo '[OK]' ;;
	reload)
		if ! cmp -s "$dir/running" "$dir/startup"; then
			printf '\nSystem configuration has been modified. Save? [yes/no]: '; read -r answer
			[ "$answer" = no ] || cp "$dir/running" "$dir/startup"
		fi
		printf 'Proceed with reload? [confirm]'; key
		[ "$key" != n ] || continue
		cp "$dir/startup" "$dir/running"
		later :
		down ;;
	exit) exit 0 ;;
	*) printf '          ^\n%% Invalid input detected at %s marker.\n\n' "'^'" ;;
	esac
done
`
