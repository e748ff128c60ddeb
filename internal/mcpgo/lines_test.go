package mcpgo

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

// A line in memory that another one has had is the line that it would be in new memory.
func TestReuse(t *testing.T) {
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for n := range 50 {
				content := strings.Repeat(fmt.Sprintf("line %d of %d\n", n, i), 5000+777*((n*7+i)%50))
				line, err := EncodeAnswer(json.RawMessage("1"), mcp.JSONRPCResponse{
					Result: &mcp.CallToolResult{Content: []mcp.Content{mcp.NewTextContent(content)}},
				})
				if err != nil {
					t.Error(err)
					return
				}
				text, err := json.Marshal(content)
				want := `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":` + string(text) + `}]}}` + "\n"
				if err != nil || string(line) != want {
					t.Errorf("line %d of %d = %.200q (%d bytes), want %.200q (%d bytes); error %v", n, i, line, len(line), want, len(want), err)
				}
				Reuse(line)
			}
		})
	}
	all.Wait()
	for _, size := range []int{0, 10, leastLine - 1, mostLine + 1} {
		Reuse(make([]byte, size))
		if b := lineBuffer(max(size, leastLine)); b.Len() != 0 || b.Cap() < size {
			t.Errorf("a buffer for %d bytes has %d of %d", size, b.Len(), b.Cap())
		}
	}
}
