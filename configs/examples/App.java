// The JDK has no Unix datagram sockets. To send often, keep a pipe to one process that sends.
import java.io.*;

public class App {
    public static void main(String[] args) throws Exception {
        new ProcessBuilder("frbpf", "trigger", "slow-request", "812ms", "status=500", "route=/api/orders").start();
    }
}
