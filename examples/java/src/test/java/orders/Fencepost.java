package orders;

import java.io.BufferedReader;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/** A fencepost that runs as a process, with one fault rule. */
final class Fencepost implements AutoCloseable {
  private static final Pattern ADDRESS = Pattern.compile("Kafka at (\\S+),");

  private final Process process;
  private final BufferedReader output;
  private final String address;

  Fencepost(String fault) throws Exception {
    process =
        new ProcessBuilder(
                "fencepost", "--listen", "127.0.0.1:0", "--http", "off", "--seed", "42", "--fault", fault)
            .redirectErrorStream(true)
            .start();
    output = process.inputReader();
    String line = output.readLine();
    Matcher found = ADDRESS.matcher(line == null ? "" : line);
    if (!found.find()) {
      throw new IllegalStateException("fencepost says " + line + output.lines().collect(Collectors.joining()));
    }
    address = found.group(1);
  }

  /** The bootstrap server for a client. */
  String address() {
    return address;
  }

  /** Ends the broker and gives its verdict. */
  String stop() throws Exception {
    process.toHandle().destroy(); // SIGTERM; Process.destroy would close its output too
    String report = output.lines().collect(Collectors.joining("\n"));
    process.waitFor(30, TimeUnit.SECONDS);
    return report;
  }

  /** 0 if every record was written exactly once and the fault fired, else 1. */
  int exitCode() {
    return process.exitValue();
  }

  @Override
  public void close() {
    process.destroyForcibly();
  }
}
