// The report: what is collected, kept and drawn.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <regex>

#include <ronde/core/error.h>
#include <ronde/data/image_file.h>
#include <ronde/models/file_io.h>

#include "models/testing.h"
#include "report/axis.h"
#include "report/epoch_table.h"
#include "report/evaluation_details.h"
#include "report/html_text.h"
#include "report/line_chart.h"
#include "report/probabilities.h"
#include "report/report_files.h"
#include "support/temp_dir.h"
#include "support/thread_ranks.h"

namespace ronde::apps {
namespace {

using test::TempDir;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::int64_t occurrences(const std::string& text, const std::string& word) {
  std::int64_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

EpochReport epoch(std::int64_t number, double loss, double accuracy) {
  EpochReport e;
  e.epoch = number;
  e.steps = 10;
  e.samples = 1280;
  e.loss = loss;
  e.accuracy = accuracy;
  e.learning_rate = 0.2;
  e.seconds = 1.5;
  e.images_per_second = 853.25;
  return e;
}

RunReport small_run() {
  RunReport run;
  Report& report = run.report;
  report.program = "train_mnist";
  report.recipe = "keras";
  report.world_size = 2;
  report.device = "cpu";
  report.precision = "float32";
  report.parameters = 1199882;
  report.global_batch = 256;
  report.status = "finished";
  report.epochs = {epoch(1, 0.625, 0.75), epoch(2, 0.5, 0.8125)};
  report.epochs[1].val_loss = 0.25;
  report.epochs[1].val_accuracy = 0.9375;
  report.test = TestReport{.loss = 0.25, .accuracy = 0.75, .correct = 3, .count = 4};
  report.train_seconds = 3.0;
  report.images_per_second = 853.25;
  report.weights_sha256 = "00ff";
  run.details =
      EvaluationDetails{.test = *report.test,
                        .class_names = {"cat", "dog"},
                        .confusion = {1, 1, 0, 2},
                        .mistakes = {{.sample = 3,
                                      .label = 0,
                                      .predicted = 1,
                                      .probability = 0.875,
                                      .label_probability = 0.125,
                                      .png = encode_png(Tensor::zeros({2, 2, 3}, {.dtype = DType::u8}))}}};
  run.command = "mpirun -np 2 train_mnist --dir out";
  run.machine = "node: 2 cores";
  run.data = "MNIST";
  run.finished = "2026-11-21 10:00 UTC";
  run.times = {{"training", 3.0}, {"evaluation", 1.0}};
  run.total_seconds = 5.0;
  return run;
}

TEST(HtmlText, EscapesWhatHasAMeaning) {
  EXPECT_EQ(escaped("<a href=\"x\">'&'</a>"), "&#60;a href=&#34;x&#34;&#62;&#39;&#38;&#39;&#60;/a&#62;");
}

TEST(HtmlText, ReplacesWhatIsNoUtf8) {
  const std::string replacement = "\xef\xbf\xbd";
  EXPECT_EQ(escaped("a\xff"
                    "b\tc\x01"),
            "a" + replacement + "b c ");
  EXPECT_EQ(escaped("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x90\x88"), "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x90\x88");
  EXPECT_EQ(escaped("\xc0\xaf"), replacement + replacement);           // too long a form of '/'
  EXPECT_EQ(escaped("\xed\xa0\x80").find("\xed"), std::string::npos);  // half of a pair
  EXPECT_EQ(escaped("\xe2\x82"), replacement + replacement);           // cut off
}

// The examples of RFC 4648.
TEST(HtmlText, Base64) {
  for (const auto& [bytes, text] : std::vector<std::pair<std::string, std::string>>{{"", ""},
                                                                                    {"f", "Zg=="},
                                                                                    {"fo", "Zm8="},
                                                                                    {"foo", "Zm9v"},
                                                                                    {"foob", "Zm9vYg=="},
                                                                                    {"foobar", "Zm9vYmFy"}}) {
    EXPECT_EQ(base64(bytes), text);
    EXPECT_EQ(from_base64(text), bytes);
  }
  EXPECT_EQ(from_base64(base64(std::string("\0\xff\x80", 3))), std::string("\0\xff\x80", 3));
  EXPECT_THROW(from_base64("Zg="), InputError);
  EXPECT_THROW(from_base64("Z*=="), InputError);
}

TEST(HtmlText, Numbers) {
  EXPECT_EQ(fixed(0.5, 2), "0.50");
  EXPECT_EQ(fixed(kNone, 2), "-");
  EXPECT_EQ(brief(0.0001), "0.0001");
  EXPECT_EQ(brief(3119.6), "3,120");
  EXPECT_EQ(brief(1234567.0), "1,234,567");
  EXPECT_EQ(brief(1e20), "1e+20");  // of a loss that ran away: no integer holds it
  EXPECT_EQ(percent(0.74125), "74.12\u00a0%");
  EXPECT_EQ(duration(0.84), "0.8\u00a0s");
  EXPECT_EQ(duration(59.7),
            "1\u00a0min\u00a0"
            "0\u00a0s");
  EXPECT_EQ(duration(724.0),
            "12\u00a0min\u00a0"
            "4\u00a0s");
  EXPECT_EQ(duration(12000.0),
            "3\u00a0h\u00a0"
            "20\u00a0min");
  EXPECT_EQ(bytes_text(250123456), "250 MB");
}

TEST(Axis, RoundTicksCoverTheRange) {
  for (const auto& [low, high] : std::vector<std::pair<double, double>>{
           {0.0, 1.0}, {0.31, 0.97}, {1e-5, 3e-4}, {-3.0, 40.0}, {2300.0, 2410.0}, {0.5, 0.5}, {0.0, 0.0}}) {
    const Ticks ticks = round_ticks(low, high, 5);
    const std::vector<double> values = ticks.values();
    EXPECT_LE(values.front(), low + 1e-9 * std::abs(low));
    EXPECT_GE(values.back(), high - 1e-9 * std::abs(high));
    EXPECT_LE(values.size(), 6u);
    EXPECT_GE(values.size(), 2u);
    const double digit = ticks.step / std::pow(10.0, std::floor(std::log10(ticks.step) + 1e-9));
    EXPECT_TRUE(std::abs(digit - 1) < 1e-6 || std::abs(digit - 2) < 1e-6 || std::abs(digit - 5) < 1e-6)
        << digit;
  }
}

TEST(Axis, WholeTicks) {
  EXPECT_EQ(whole_ticks(1, 3, 8), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(whole_ticks(7, 7, 8), (std::vector<std::int64_t>{7}));
  EXPECT_EQ(whole_ticks(1, 100, 8), (std::vector<std::int64_t>{1, 20, 40, 60, 80, 100}));
}

TEST(Axis, LabelsTellNeighboursApart) {
  EXPECT_EQ(tick_label(0.25, 0.05), "0.25");
  EXPECT_EQ(tick_label(12000.0, 1000.0), "12,000");
  EXPECT_EQ(tick_label(2e20, 1e20), "2e+20");
  EXPECT_EQ(tick_label(0.0, 0.1), "0");
  EXPECT_EQ(tick_label(1.5e-4, 5e-5), "1.5e-4");
}

TEST(LineChart, DrawsValuesWhereTheAxisSays) {
  const std::string html =
      line_chart({.title = "Loss", .epochs = {1, 2, 3}, .series = {{"training", {0.0, 1.0, 0.5}}}});
  std::smatch path;
  ASSERT_TRUE(std::regex_search(html, path,
                                std::regex("<path d=\"M([0-9.]+) ([0-9.]+)L([0-9.]+) ([0-9.]+)L"
                                           "([0-9.]+) ([0-9.]+)\"")));
  const auto number = [&](std::size_t i) { return std::stod(path[i]); };
  EXPECT_NEAR(number(3) - number(1), number(5) - number(3), 0.2);  // equal steps in x
  EXPECT_NEAR(number(6), (number(2) + number(4)) / 2, 0.11);       // 0.5 half way between 0 and 1
  EXPECT_GT(number(2), number(4));                                 // more is higher up
  EXPECT_EQ(occurrences(html, "<circle"), 3);
  EXPECT_TRUE(contains(html, "<title>epoch 2: 1</title>")) << html;
}

TEST(LineChart, LeavesOutWhatIsNotThere) {
  EXPECT_EQ(line_chart({.title = "x", .epochs = {1}, .series = {{"a", {kNone}}}}), "");
  EXPECT_EQ(line_chart({.title = "x"}), "");
  const std::string html = line_chart(
      {.title = "x", .epochs = {1, 2, 3}, .series = {{"a", {1, kNone, 2}}, {"b", {kNone, kNone, kNone}}}});
  EXPECT_EQ(occurrences(html, "<circle"), 2);
  EXPECT_EQ(html.find(">b"), std::string::npos);
  EXPECT_EQ(html.find("nan"), std::string::npos);
}

TEST(LineChart, StaysSmallForManyEpochs) {
  LineChart chart{.title = "x"};
  Series series{.name = "a"};
  for (int i = 1; i <= 5000; ++i) chart.epochs.push_back(i), series.values.push_back(i % 7);
  chart.series = {series};
  EXPECT_LT(line_chart(chart).size(), 150000u);
}

TEST(Probabilities, SoftmaxOnlyWhereNeeded) {
  EXPECT_EQ(probabilities(std::vector<double>{0.25, 0.75}), (std::vector<double>{0.25, 0.75}));
  const std::vector<double> p = probabilities(std::vector<double>{1000.0, 1000.0 + std::log(3.0)});
  EXPECT_NEAR(p[0], 0.25, 1e-12);
  EXPECT_NEAR(p[1], 0.75, 1e-12);
}

TEST(ReportJson, MetricsComeBack) {
  RunReport run = small_run();
  run.report.epochs[0].loss = kNone;
  run.report.unfinished =
      UnfinishedEpoch{.epoch = 3, .steps = 4, .seconds = 0.625, .images_per_second = 819.2};
  const Report back = parse_report(to_json(run.report), "metrics.json");
  EXPECT_TRUE(std::isnan(back.epochs[0].loss));
  EXPECT_EQ(to_json(back), to_json(run.report));
}

TEST(ReportJson, DetailsComeBack) {
  const RunReport run = small_run();
  RunReport back;
  parse_details(details_json(run), "evaluation.json", back);
  ASSERT_TRUE(back.details);
  EXPECT_EQ(back.details->mistakes[0].png, run.details->mistakes[0].png);
  back.report = run.report;
  EXPECT_EQ(html_report(back), html_report(run));
}

TEST(ReportJson, RefusesWhatDoesNotFit) {
  EXPECT_THROW(parse_report("{", "m"), InputError);
  EXPECT_THROW(parse_report("[]", "m"), InputError);
  EXPECT_THROW(parse_report(R"({"epochs": [{"epoch": "one"}]})", "m"), InputError);
  RunReport run = small_run();
  run.details->confusion.pop_back();
  EXPECT_THROW(parse_details(details_json(run), "e", run), InputError);
  run = small_run();
  run.details->mistakes[0].label = 2;
  EXPECT_THROW(parse_details(details_json(run), "e", run), InputError);
}

TEST(ReportJson, RefusesNumbersThatCannotBe) {
  for (const char* size : {"0", "-1", "0.5", "2.0", "1e-308", "9223372036854775808", "4294967297"})
    EXPECT_THROW(parse_report(cat(R"({"epochs": [], "world_size": )", size, "}"), "m"), InputError) << size;
  const auto epochs = [](const std::string& first, const std::string& second) {
    return cat(R"({"epochs": [{"epoch": )", first, R"(}, {"epoch": )", second, "}]}");
  };
  for (const char* number :
       {"0", "-9223372036854775808", "18446744073709551616", "18446744073709551615", "2147483649", "1.5"})
    EXPECT_THROW(parse_report(epochs(number, "4"), "m"), InputError) << number;
  for (const char* number : {"9223372036854775807", "2147483649", "1", "3"})
    EXPECT_THROW(parse_report(epochs("3", number), "m"), InputError) << number;
  EXPECT_EQ(parse_report(epochs("3", "2147483648"), "m").epochs.size(), 2u);
  try {
    parse_report(epochs("3", "1"), "m.json");
    FAIL();
  } catch (const InputError& error) {
    EXPECT_TRUE(contains(error.what(), "m.json: \"epoch\" is 1, expected a whole number from 4"))
        << error.what();
  }
}

TEST(EpochTable, LaterRowsReplaceEarlierOnes) {
  const Report report = parse_epoch_table(
      "epoch,accuracy,learning_rate,loss,val_loss\r\n0,0.5,0.1,1.5,NA\r\n1,0.625,0.1,1.25,2\r\n1,0.75,0.05,1,"
      "1.75\r\n",
      "training.csv");
  ASSERT_EQ(report.epochs.size(), 2u);
  EXPECT_EQ(report.epochs[0].epoch, 1);
  EXPECT_TRUE(std::isnan(report.epochs[0].val_loss.value_or(0.0)));
  EXPECT_EQ(report.epochs[1].accuracy, 0.75);
  EXPECT_EQ(report.epochs[1].val_loss, 1.75);
  EXPECT_EQ(report.epochs[1].learning_rate, 0.05);
}

TEST(EpochTable, RefusesOtherFiles) {
  EXPECT_THROW(parse_epoch_table("a,b\n1,2\n", "t"), InputError);
  EXPECT_THROW(parse_epoch_table("epoch,loss\n0\n", "t"), InputError);
  EXPECT_THROW(parse_epoch_table("epoch,loss\n1e300,1\n", "t"), InputError);
}

TEST(HtmlReport, LoadsNothingAndRunsNothing) {
  const std::string page = html_report(small_run());
  for (const char* word : {"http:", "https:", "<script", "<link", "url(", "@import", "javascript:"})
    EXPECT_EQ(page.find(word), std::string::npos) << word;
  EXPECT_EQ(occurrences(page, "src=\""), occurrences(page, "src=\"data:image/png;base64,"));
  EXPECT_EQ(occurrences(page, "<svg"), 4);
}

TEST(HtmlReport, EscapesEveryText) {
  RunReport run = small_run();
  const std::string evil = "<b onclick='x'>\"&";
  for (std::string* text : {&run.report.program, &run.report.recipe, &run.report.device,
                            &run.report.precision, &run.report.status, &run.report.weights_sha256,
                            &run.report.checkpoint, &run.command, &run.machine, &run.data, &run.finished,
                            &run.times[0].what, &run.details->class_names[0], &run.details->class_names[1]})
    *text = evil;
  EXPECT_EQ(html_report(run).find("<b onclick"), std::string::npos);
  EXPECT_EQ(html_report(run).find("'x'"), std::string::npos);
}

TEST(HtmlReport, SaysWhatTheRunSays) {
  const std::string page = html_report(small_run());
  for (const char* text : {"3 of 4 test images right after 2 epochs on 2 ranks", "75.00\u00a0%", "1,199,882",
                           "0.2500", "mpirun -np 2 train_mnist --dir out", "00ff"})
    EXPECT_TRUE(contains(page, text)) << page;
  EXPECT_TRUE(contains(page, "cat taken for dog: 1 of 2")) << page;
  EXPECT_TRUE(contains(page, "other <b>1.0\u00a0s</b> 20.0\u00a0%")) << page;
}

TEST(HtmlReport, ShortNamesStandUprightAboveTheMatrix) {
  RunReport run = small_run();
  EXPECT_TRUE(contains(html_report(run), "class=\"matrix short\""));
  run.details->class_names[1] = "automobile";
  EXPECT_FALSE(contains(html_report(run), "class=\"matrix short\""));
}

TEST(HtmlReport, OfARunWithoutResults) {
  RunReport run;
  run.report.status = "failed";
  EXPECT_TRUE(contains(html_report(run), "Stopped by an error after 0 epochs")) << html_report(run);
  run.report.epochs = {epoch(1, kNone, 0.5)};
  EXPECT_EQ(html_report(run).find("nan"), std::string::npos);
}

TEST(ReportFiles, ReportIsTheSameWhenMadeAgain) {
  const TempDir dir;
  const RunReport run = small_run();
  atomic_write_file(dir / "metrics.json", to_json(run.report));
  write_run_report(run, dir / "logs", dir / "report.html");
  const std::string page = read_file(dir / "report.html");
  EXPECT_EQ(html_report(read_run_report(dir.path())), page);
  EXPECT_EQ(html_report(read_run_report(dir / "logs")), page);
}

TEST(ReportFiles, OfATableAlone) {
  const TempDir dir;
  atomic_write_file(dir / "training.csv", "epoch,loss\r\n0,0.5\r\n");
  const RunReport run = read_run_report(dir.path());
  EXPECT_EQ(run.report.epochs.size(), 1u);
  EXPECT_TRUE(contains(html_report(run), "1 epoch.")) << html_report(run);
}

TEST(ReportFiles, SaysWhatIsMissing) {
  const TempDir dir;
  EXPECT_THROW(read_run_report(dir.path()), IoError);
  EXPECT_THROW(read_run_report(dir / "none"), IoError);
  atomic_write_file(dir / "metrics.json", "{\"epochs\": 3}");
  EXPECT_THROW(read_run_report(dir.path()), InputError);
}

/// What collect_details should say, from `predict` and plain loops.
struct Expected {
  std::vector<std::int64_t> confusion = std::vector<std::int64_t>(9);
  std::vector<std::pair<double, std::int64_t>> mistakes;  // minus the probability, sample
};

Expected expected_details(const InMemoryDataset& data) {
  Model model = test::small_model();
  const std::vector<double> p = model.predict(data.inputs()).to_vector<double>();
  const std::vector<std::int32_t> labels = data.targets().to_vector<std::int32_t>();
  Expected expected;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto best = static_cast<std::size_t>(std::max_element(&p[3 * i], &p[3 * i] + 3) - &p[3 * i]);
    const auto label = static_cast<std::size_t>(labels[i]);
    ++expected.confusion[3 * label + best];
    if (best != label) expected.mistakes.push_back({-p[3 * i + best], static_cast<std::int64_t>(i)});
  }
  std::sort(expected.mistakes.begin(), expected.mistakes.end());
  return expected;
}

TEST(EvaluationDetails, AreTheSameOnAnyNumberOfRanks) {
  const InMemoryDataset data = test::small_images(23);
  const Expected expected = expected_details(data);
  ASSERT_GT(expected.mistakes.size(), 6u);
  for (const int size : {1, 2, 3}) {
    test::run_ranks(size, [&](Communicator& world) {
      Model model = test::small_model({.communicator = &world});
      const EvaluationDetails details = collect_details(model, data, {.batch_size = 4, .mistakes = 6});
      const Evaluation plain = model.evaluate(data, 4);
      EXPECT_EQ(details.confusion, expected.confusion);
      EXPECT_EQ(details.test.count, 23);
      EXPECT_EQ(details.test.correct, plain.correct);
      EXPECT_NEAR(details.test.loss, plain.loss_sum / 23.0, 1e-6);  // summed in another order
      EXPECT_EQ(details.class_names, (std::vector<std::string>{"0", "1", "2"}));
      ASSERT_EQ(details.mistakes.size(), 6u);
      for (std::size_t i = 0; i < 6; ++i) {
        EXPECT_EQ(details.mistakes[i].sample, expected.mistakes[i].second);
        EXPECT_NEAR(details.mistakes[i].probability, -expected.mistakes[i].first, 1e-6);
      }
    });
  }
}

TEST(EvaluationDetails, TheLossHasThePenaltiesOfEvaluate) {
  auto net = std::make_unique<Sequential>(
      Flatten(),
      Dense({.units = 3, .activation = Activation::softmax, .kernel_regularizer = Regularizer::l2(0.5)}));
  Model model(std::move(net), {6, 6, 1});
  model.compile(test::small_compile());
  const InMemoryDataset data = test::small_images(9);
  const Evaluation plain = model.evaluate(data, 4);
  EXPECT_NEAR(collect_details(model, data, {.batch_size = 4}).test.loss, plain.logs.at("loss"), 1e-6);
}

TEST(EvaluationDetails, PicturesAreTheSamples) {
  std::vector<float> pixels;
  for (int i = 0; i < 3 * 36; ++i) pixels.push_back(static_cast<float>(i % 36) / 35.0f);
  for (int i = 0; i < 36; ++i) pixels[static_cast<std::size_t>(i)] *= 4.0f;  // leaves [0, 1]: stretched
  const InMemoryDataset data(Tensor::from<float>({3, 6, 6, 1}, pixels),
                             Tensor::from<std::int32_t>({3}, {0, 1, 2}));
  Model model = test::small_model();
  const EvaluationDetails details = collect_details(model, data);
  ASSERT_FALSE(details.mistakes.empty());
  for (const Mistake& mistake : details.mistakes) {
    const std::vector<std::uint8_t> bytes = decode_image(mistake.png, "png").to_vector<std::uint8_t>();
    ASSERT_EQ(bytes.size(), 36u);
    for (int i = 0; i < 36; ++i) EXPECT_NEAR(bytes[static_cast<std::size_t>(i)], 255.0 * i / 35.0, 0.51) << i;
  }
}

TEST(EvaluationDetails, RefusesOtherData) {
  Model model = test::small_model();
  const InMemoryDataset wide(Tensor::zeros({2, 5, 5, 1}), Tensor::from<std::int32_t>({2}, {0, 1}));
  EXPECT_THROW(collect_details(model, wide), UsageError);
  const InMemoryDataset values(Tensor::zeros({2, 6, 6, 1}), Tensor::zeros({2, 3}));
  EXPECT_THROW(collect_details(model, values), UsageError);
  const InMemoryDataset labels(Tensor::zeros({2, 6, 6, 1}), Tensor::from<std::int32_t>({2}, {0, 3}));
  try {
    collect_details(model, labels);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ExitStatus::usage);
    EXPECT_TRUE(contains(error.what(), "sample 1 has label 3, but the net has 3 outputs")) << error.what();
  }
}

}  // namespace
}  // namespace ronde::apps
