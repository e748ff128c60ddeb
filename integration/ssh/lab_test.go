package ssh

import (
	"testing"

	"ptyctl/internal/lab"
)

// TestLab runs ptyctl's SSH against Debian's OpenSSH server, and dropbear, in the configurations that real networks
// have. One test is one configuration, and sets the options that matter in it itself.
//
// The servers, their users and their PAM services live in a namespace of their own (see lab.StartNamespace): the host
// sees neither, and all of it ends with the test. It needs root, or sudo without a password.
//
//	go test -race -run 'TestLab/two_factor' ./integration/ssh
func TestLab(t *testing.T) {
	l := lab.StartNamespace(t)
	// Alone, because it is a matter of load.
	t.Run("default limits", func(t *testing.T) { labDefaultLimits(t, l) })

	for _, test := range []struct {
		name string
		run  func(*testing.T, *lab.Namespace)
	}{
		{"password", labPassword},
		{"wrong password", labWrongPassword},
		{"two factor", labTwoFactor},
		{"two rounds of questions", labTwoRounds},
		{"expired password", labExpiredPassword},
		{"user certificate", labUserCertificate},
		{"login grace time", labLoginGraceTime},
		{"agent with eight keys", labMaxAuthTries},
		{"no method of ours", labNoMethodOfOurs},

		{"host certificate", labHostCertificate},
		{"changed host key", labChangedHostKey},
		{"changed host key on a hop", labChangedHostKeyOnHop},
		{"one known key of three", labOneKnownKeyOfThree},
		{"legacy algorithms", labLegacyAlgorithms},
		{"rekey", labRekey},

		{"three hops", labThreeHops},
		{"secrets", labSecrets},
		{"secret at a changed host", labSecretAtChangedHost},
		{"sudo with a secret", labSudo},
		{"hop gets no password", labHopGetsNoPassword},
		{"hop forbids forwarding", labHopForbidsForwarding},

		{"one session per connection", labMaxSessionsOne},
		{"forced command", labForceCommand},
		{"no terminal", labPermitTTYNo},
		{"no login shell", labNoLogin},
		{"banner", labBanner},
		{"environment", labEnvironment},
		{"signal", labSignal},
		{"exec timeout", labExecTimeout},
		{"close ends commands", labCloseEndsCommands},
		{"agent forwarding", labAgentForwarding},

		{"client alive", labClientAlive},
		{"client frozen", labClientFrozen},
		{"channel timeout", labChannelTimeout},
		{"server frozen", labServerFrozen},
		{"server killed", labServerKilled},

		{"dropbear", labDropbear},
		{"files", labFiles},
		{"control socket", labControlSocket},

		{"program: login over a hop", labProgramLogin},
		{"program: secrets", labProgramSecrets},
		{"program: restricted accounts", labProgramRestricted},
		{"program: commands on hosts", labOnHost},
		{"restricted accounts", labRestricted},
		{"no session", labNoSession},
		{"eight unanswered logins", labUnanswered},
		{"unanswered logins by other spellings", labSpelledLogins},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel() // most of them wait, most of the time
			test.run(t, l)
		})
	}
}
