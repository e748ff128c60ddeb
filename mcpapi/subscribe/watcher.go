package subscribe

import (
	"context"
	"errors"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// A watcher is a client that wants notifications: an MCP session, or one subscriptions/listen of it. Guarded by
// feed.mu.
type watcher struct {
	ctx          context.Context      // carries the caller
	sessionID    string               // of a session; or
	stream       server.ClientSession // of a subscriptions/listen, with the request
	subscription any

	list bool            // it wants to know when a session comes or is gone
	uris map[string]bool // subscribed URIs; false: one last notification is due, about the end

	follows map[string]*followed // the URIs of other nodes; nil: no such URIs

	// due has the time of each notification; listChanged is the key of the list. One notification covers all changes
	// until then. The delay also keeps a notification from overtaking the answer to the request that subscribed.
	due map[string]time.Time
}

// listChanged is the key of the list of resources in watcher.due.
const listChanged = ""

// tails reports whether any of the URIs names a tail.
func (w *watcher) tails() bool {
	for uri := range w.uris {
		if _, tail, _ := sessionOf(uri); tail {
			return true
		}
	}
	return false
}

// mark schedules a notification of a change. An empty id means all sessions.
func (w *watcher) mark(id string, c change, now time.Time) {
	if c&changedList != 0 && w.list {
		w.markAt(listChanged, now.Add(gatherState))
	}
	// The list shows the state of each session, so that a change of either is one of the list.
	if c&(changedList|changedState) != 0 {
		w.markURI(sessionsURI, now.Add(gatherState))
	}
	if id == "" {
		for uri := range w.uris {
			w.markURI(uri, now.Add(gatherOutput))
		}
		return
	}
	if c&changedState != 0 {
		w.markURI(statusURI(id), now.Add(gatherState))
	}
	// The end of a session is announced for its tail as well: a client that follows it would wait for more.
	if c&(changedOutput|gone) != 0 {
		w.markURI(tailURI(id), now.Add(gatherOutput))
	}
	if c&gone != 0 {
		for _, uri := range []string{statusURI(id), tailURI(id)} {
			if w.uris[uri] {
				w.uris[uri] = false
			}
		}
	}
}

func (w *watcher) markURI(uri string, at time.Time) {
	if _, wanted := w.uris[uri]; wanted {
		w.markAt(uri, at)
	}
}

func (w *watcher) markAt(key string, at time.Time) {
	if _, marked := w.due[key]; !marked {
		w.due[key] = at
	}
}

// send sends the notifications that are due. It schedules again those that the client does not take, and reports
// false when the client has gone.
func (w *watcher) send(srv *server.MCPServer, now time.Time) bool {
	for key, at := range w.due {
		if at.After(now) {
			continue
		}
		err := w.notify(srv, key)
		switch {
		case err == nil:
			delete(w.due, key)
			if again, wanted := w.uris[key]; wanted && !again {
				delete(w.uris, key)
			}
		case errors.Is(err, server.ErrSessionNotFound):
			return false
		default:
			w.due[key] = now.Add(gatherOutput)
		}
	}
	return true
}

// notify adds one notification to the client's queue, without waiting for room.
func (w *watcher) notify(srv *server.MCPServer, key string) error {
	method, params := mcp.MethodNotificationResourcesListChanged, map[string]any(nil)
	if key != listChanged {
		method, params = mcp.MethodNotificationResourceUpdated, map[string]any{"uri": key}
	}
	if w.stream == nil {
		return srv.SendNotificationToSpecificClient(w.sessionID, method, params)
	}
	n := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION, Notification: mcp.Notification{
		Method: method,
		Params: mcp.NotificationParams{
			Meta:             map[string]any{mcp.MetaKeySubscriptionID: w.subscription},
			AdditionalFields: params,
		},
	}}
	select {
	case w.stream.NotificationChannel() <- n:
		return nil
	default:
		return errFull
	}
}
