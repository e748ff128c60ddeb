package lease

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"ptyctl/cluster/lease/rules"
)

// TestCodes: package rules, which knows no NATS, has the codes of the client library.
func TestCodes(t *testing.T) {
	if int(jetstream.JSErrCodeStreamWrongLastSequence) != rules.WrongRevision ||
		int(jetstream.JSErrCodeStreamWrongLastSequenceConstant) != rules.WriteUnderWay {
		t.Errorf("the codes are %d and %d", jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant)
	}
}
