// Single operations of real Go, for `cargo bench -p gosteal --bench versus_go`.
//
// Speaks lines on stdin and stdout: `OPERATION PROCS N` is answered with the nanoseconds that N operations
// took, measured inside, warm. GOMAXPROCS is set per line; the garbage collector is off, since the other side
// has none (the spawn figures would otherwise include it; the lines say what was done).
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

func pingPong(n int) time.Duration {
	to, back := make(chan int), make(chan int)
	go func() {
		for v := range to {
			back <- v
		}
	}()
	start := time.Now()
	for i := 0; i < n; i++ {
		to <- i
		<-back
	}
	took := time.Since(start)
	close(to)
	return took
}

func goFinish(n int) time.Duration {
	var wg sync.WaitGroup
	start := time.Now()
	for done := 0; done < n; done += 200 {
		size := min(200, n-done)
		wg.Add(size)
		for i := 0; i < size; i++ {
			go wg.Done()
		}
		wg.Wait()
	}
	return time.Since(start)
}

func goFinishAll(n int) time.Duration {
	var wg sync.WaitGroup
	start := time.Now()
	wg.Add(n)
	for i := 0; i < n; i++ {
		go wg.Done()
	}
	wg.Wait()
	return time.Since(start)
}

func yields(n int) time.Duration {
	start := time.Now()
	for i := 0; i < n; i++ {
		runtime.Gosched()
	}
	return time.Since(start)
}

func main() {
	debug.SetGCPercent(-1)
	in := bufio.NewScanner(os.Stdin)
	fmt.Println("ready", runtime.Version())
	for in.Scan() {
		var op string
		var procs, n int
		if _, err := fmt.Sscan(in.Text(), &op, &procs, &n); err != nil {
			fmt.Println("error", err)
			continue
		}
		runtime.GOMAXPROCS(procs)
		ops := map[string]func(int) time.Duration{
			"ping-pong": pingPong, "go-finish": goFinish, "go-finish-all": goFinishAll, "yield": yields,
		}
		f, ok := ops[op]
		if !ok {
			fmt.Println("error no such operation:", op)
			continue
		}
		took := f(n)
		fmt.Println("ok", took.Nanoseconds())
	}
}
