package lease

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// write returns a message that writes a key if its last write has that revision; 0: if it has none. Without data it
// deletes the key.
func (s *Store) write(key string, data []byte, revision uint64) *nats.Msg {
	m := nats.NewMsg("$KV." + s.o.Bucket + "." + key)
	m.Header.Set("Nats-Expected-Last-Subject-Sequence", strconv.FormatUint(revision, 10))
	if m.Data = data; data == nil {
		m.Header.Set("KV-Operation", "DEL")
	}
	return m
}

// put sends a write and waits for its confirmation, which has the revision.
func (s *Store) put(ctx context.Context, m *nats.Msg) (revision uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.attempt())
	defer cancel()
	answer, err := s.nc.RequestMsgWithContext(ctx, m)
	if err != nil {
		return 0, err
	}
	return confirmed(answer.Data)
}

// attempt is how long one answer is waited for.
func (s *Store) attempt() time.Duration {
	return min(max(s.o.every(), 500*time.Millisecond), 2*time.Second)
}

// confirmed reads the answer to a write.
func confirmed(data []byte) (revision uint64, err error) {
	var answer struct {
		Error *jetstream.APIError `json:"error"`
		Seq   uint64              `json:"seq"`
	}
	switch err := json.Unmarshal(data, &answer); {
	case err != nil:
		return 0, fmt.Errorf("an answer that cannot be read: %w", err)
	case answer.Error != nil:
		return 0, answer.Error
	case answer.Seq == 0:
		return 0, errors.New("an answer without a revision")
	}
	return answer.Seq, nil
}

// ask calls JetStream's API. request is encoded as JSON, nil as nothing.
func (s *Store) ask(ctx context.Context, subject string, request, answer any) error {
	var body []byte
	if request != nil {
		var err error
		if body, err = json.Marshal(request); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, s.attempt())
	defer cancel()
	m, err := s.nc.RequestMsgWithContext(ctx, &nats.Msg{Subject: subject, Data: body})
	if err != nil {
		return err
	}
	return decode(m.Data, answer)
}

// decode reads an answer of JetStream's API.
func decode(data []byte, answer any) error {
	var failed struct {
		Error *jetstream.APIError `json:"error"`
	}
	if err := json.Unmarshal(data, &failed); err != nil {
		return fmt.Errorf("an answer that cannot be read: %w", err)
	}
	if failed.Error != nil {
		return failed.Error
	}
	return json.Unmarshal(data, answer)
}

// lastWrite is the request for the last write of a key. The leader of the stream answers it. The reads of a
// jetstream.KeyValue may be answered by any server, also by one that lags behind.
type lastWrite struct {
	Subject string `json:"last_by_subj"`
}

// storedMsg is the answer to a lastWrite.
type storedMsg struct {
	Message struct {
		Seq    uint64 `json:"seq"`
		Header string `json:"hdrs"` // base64
		Data   []byte `json:"data"`
	} `json:"message"`
}

// entry reads the answer.
func (m storedMsg) entry() (entry, error) {
	header, err := base64.StdEncoding.DecodeString(m.Message.Header)
	if err != nil {
		return entry{}, fmt.Errorf("an answer that cannot be read: %w", err)
	}
	// Without its first line, the version, it is a header of MIME. Names keep their case in NATS.
	marker := false
	for line := range strings.SplitSeq(string(header), "\r\n") {
		name, _, _ := strings.Cut(line, ":")
		switch textproto.CanonicalMIMEHeaderKey(name) {
		case "Kv-Operation", "Nats-Marker-Reason":
			marker = true
		}
	}
	return newEntry(m.Message.Data, marker, m.Message.Seq), nil
}

// getSubject is where the leader of the stream is asked for a lastWrite.
func (s *Store) getSubject() string { return "$JS.API.STREAM.MSG.GET." + s.stream }

// read returns the last write of a key, as the leader of the stream has it.
func (s *Store) read(ctx context.Context, key string) (entry, error) {
	var m storedMsg
	err := s.ask(ctx, s.getSubject(), lastWrite{"$KV." + s.o.Bucket + "." + key}, &m)
	switch {
	case codeOf(err) == jetstream.JSErrCodeMessageNotFound:
		return entry{}, nil
	case err != nil:
		return entry{}, err
	}
	return m.entry()
}

// bound returns the context of a call, which ends with the Store and in Options.Timeout at the latest, and another one
// that ends a little earlier: what is left is for the explanation of a failure.
func (s *Store) bound(ctx context.Context) (whole, work context.Context, cancel context.CancelFunc) {
	whole, stop := context.WithTimeout(ctx, s.o.Timeout)
	end, _ := whole.Deadline()
	left := time.Until(end)
	work, done := context.WithDeadline(whole, end.Add(-min(left/4, 500*time.Millisecond)))
	unhook := context.AfterFunc(s.ctx, stop)
	return whole, work, func() { unhook(); done(); stop() }
}

// pause waits before the next attempt of a call, a little longer each time. It reports false once ctx ends.
func pause(ctx context.Context, attempts int) bool {
	d := min(10*time.Millisecond<<min(attempts, 5), 250*time.Millisecond)
	timer := time.NewTimer(d/2 + rand.N(d/2))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
