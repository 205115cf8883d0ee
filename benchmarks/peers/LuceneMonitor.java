// Lucene's monitor, the basis of percolators: one stored query per expression.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.apache.lucene.analysis.core.KeywordAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.DoublePoint;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.StringField;
import org.apache.lucene.index.Term;
import org.apache.lucene.monitor.Monitor;
import org.apache.lucene.monitor.MonitorConfiguration;
import org.apache.lucene.monitor.MonitorQuery;
import org.apache.lucene.monitor.QueryMatch;
import org.apache.lucene.monitor.TermFilteredPresearcher;
import org.apache.lucene.search.BooleanClause.Occur;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.MatchAllDocsQuery;
import org.apache.lucene.search.MatchNoDocsQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.TermQuery;

public class LuceneMonitor {
  static final String PRESENT = "_present";

  static Query query(Iterator<String> tokens) {
    String kind = tokens.next();
    if (!kind.equals("?")) {
      int count = Integer.parseInt(tokens.next());
      boolean every = kind.equals("&");
      if (count == 0) return every ? new MatchAllDocsQuery() : new MatchNoDocsQuery();
      BooleanQuery.Builder all = new BooleanQuery.Builder();
      for (int at = 0; at < count; at++) all.add(query(tokens), every ? Occur.MUST : Occur.SHOULD);
      return all.build();
    }
    String attribute = tokens.next(), operator = tokens.next();
    boolean negated = tokens.next().equals("1"), absent = tokens.next().equals("1");
    int count = Integer.parseInt(tokens.next());
    List<String> values = new ArrayList<>();
    for (int at = 0; at < count; at++) values.add(tokens.next());
    Query test = test(attribute, operator, values);
    if (!negated) return test;
    Query others = absent ? new MatchAllDocsQuery() : new TermQuery(new Term(PRESENT, attribute));
    return new BooleanQuery.Builder().add(others, Occur.MUST).add(test, Occur.MUST_NOT).build();
  }

  static Query test(String attribute, String operator, List<String> values) {
    if (operator.equals("in")) {
      if (values.size() == 1) return new TermQuery(new Term(attribute, values.get(0)));
      BooleanQuery.Builder any = new BooleanQuery.Builder();
      for (String value : values) any.add(new TermQuery(new Term(attribute, value)), Occur.SHOULD);
      return any.build();
    }
    double bound = Double.parseDouble(values.get(0).substring(1));
    double low = Double.NEGATIVE_INFINITY, high = Double.POSITIVE_INFINITY;
    if (operator.equals("<")) high = Math.nextDown(bound);
    if (operator.equals("<=")) high = bound;
    if (operator.equals(">")) low = Math.nextUp(bound);
    if (operator.equals(">=")) low = bound;
    return DoublePoint.newRangeQuery(attribute + "#", low, high);
  }

  static Document document(String[] fields) {
    Document document = new Document();
    for (int at = 0; at + 1 < fields.length; at += 2) {
      String name = fields[at], value = fields[at + 1];
      document.add(new StringField(PRESENT, name, Field.Store.NO));
      document.add(new StringField(name, value, Field.Store.NO));
      if (value.startsWith("n"))
        document.add(new DoublePoint(name + "#", Double.parseDouble(value.substring(1))));
    }
    return document;
  }

  public static void main(String[] arguments) throws Exception {
    IndexSearcher.setMaxClauseCount(1 << 24);
    BufferedReader in =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 16);
    PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    MonitorConfiguration settings = new MonitorConfiguration();
    Monitor monitor = new Monitor(new KeywordAnalyzer(), new TermFilteredPresearcher(), settings);
    int count = Integer.parseInt(in.readLine());
    List<MonitorQuery> queries = new ArrayList<>();
    for (int number = 0; number < count; number++) {
      Iterator<String> tokens = Arrays.asList(in.readLine().split("\t")).iterator();
      queries.add(new MonitorQuery(Integer.toString(number), query(tokens)));
      if (queries.size() == 10_000 || number + 1 == count) {
        monitor.register(queries);
        queries.clear();
      }
    }
    out.println("ready");
    out.flush();
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      var found = monitor.match(document(line.split("\t")), QueryMatch.SIMPLE_MATCHER);
      StringBuilder ids = new StringBuilder();
      for (QueryMatch match : found.getMatches()) ids.append(match.getQueryId()).append(' ');
      out.println(ids);
      out.flush();
    }
    monitor.close();
  }
}
