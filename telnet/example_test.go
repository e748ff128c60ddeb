package telnet_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"time"

	"ptyctl/telnet"
)

// router imitates a device that negotiates before its prompt.
func router(c net.Conn) {
	defer c.Close()
	io.WriteString(c, "\xff\xfb\x01\xff\xfd\x1f") // WILL ECHO, DO NAWS
	in := bufio.NewReader(c)
	in.Discard(3 + 3 + 9) // DO ECHO, WILL NAWS and the size
	io.WriteString(c, "r1> ")
	in.ReadString('\r')
	io.WriteString(c, "show clock\r\n12:00:00 UTC\r\nr1> ")
}

func Example() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			router(c)
		}
	}()

	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	conn, err := telnet.Dialer{}.DialContext(ctx, "tcp", l.Addr().String())
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "show clock\r") // "\r" is the enter key
	text, err := io.ReadAll(conn)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%q\n", text)
	s := conn.State()
	fmt.Println(s.Local, s.Remote)
	// Output:
	// "r1> show clock\r\n12:00:00 UTC\r\nr1> "
	// [naws] [echo]
}
