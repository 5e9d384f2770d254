// The JDK has no datagram sockets of this kind: a pipe to one process that sends does it.
import java.io.*;

public class App {
    public static void main(String[] args) throws Exception {
        new ProcessBuilder("frbpf", "trigger", "slow-request", "812ms", "status=500", "route=/api/orders").start();
    }
}
