package main

import (
	"syscall"
	"testing"

	"ptyctl/cluster/internal/natstest"
	"ptyctl/mcpapi/peers"
)

// TestPlaceUpgraded: while the only node with the labels of a device is upgraded, an open is told to come again: the node
// has left, and is back soon.
func TestPlaceUpgraded(t *testing.T) {
	t.Parallel()
	url, port := natstest.Start(t, 1)[0].URL, console(t)
	place := `place = ["site=ams@ams-*"]`
	a := start(t, lines("a", url, `labels = ["site=fra"]`, place))
	conf := httpLines(t, "b", url, `labels = ["site=ams"]`, place)
	opens := func() result { return a.open("ams-r1", port) }
	if r := opens(); r.ErrorCode != "NODE_UNREACHABLE" || !r.Retryable {
		t.Errorf("open before the node = %s", r.text)
	}
	b := serve(t, conf)
	natstest.Eventually(t, "the console is served from its site", func() bool { return peers.NodeOf(opens().SessionID) == "b" })
	_ = b.cmd.Process.Signal(syscall.SIGTERM)
	<-b.ended
	natstest.Eventually(t, "the node has left", func() bool {
		r := opens()
		if r.ErrorCode == "UNSUPPORTED" || r.ErrorCode != "" && !r.Retryable {
			t.Errorf("open while the node is away = %s", r.text)
		}
		return r.ErrorCode == "NODE_UNREACHABLE"
	})
	serve(t, conf)
	natstest.Eventually(t, "the console is served from its site again", func() bool { return peers.NodeOf(opens().SessionID) == "b" })
}
