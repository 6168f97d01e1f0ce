// Fills the lines that say what this browser remembers, on a lesson's page and in the list of lessons.
// tools/build_site.py puts the code of the answers before it, and LESSONS.

const cards = cardsOf(LESSONS);

follow(() => {
  const [answers, day] = [withAnswers(cards), today()];
  for (const line of document.querySelectorAll("[data-lesson]")) {
    const counts = countsOf(answers.filter(({ lesson }) => lesson.startsWith(line.dataset.lesson)), day);
    line.textContent = counts.answered ? inWords(counts) : "";
  }
});
