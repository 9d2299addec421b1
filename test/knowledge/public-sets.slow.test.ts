import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { listQueryWords, listWords } from '../../entities/assistants/knowledge.sql.ts'
import { SearchIndex } from '../../server/knowledge/search-index.ts'
import { startApp } from '../kit/app.ts'
import { shareResource } from '../kit/share-resource.ts'
import { average, computeDiscount } from './gains.ts'

/** A folder with public sets, which whoever runs this test brings along; the guide says which files. */
const folder = process.env['KNOWLEDGE_SETS'] ?? ''
const svc = shareResource(startApp)

const read = (name: string) => readFile(join(folder, name), 'utf8')

interface TestSet {
  language: 'english' | 'german'
  /** Texts, each of which is a file of one passage. */
  texts: readonly string[]
  /** Questions with the places of the texts that answer them. */
  questions: readonly { question: string; answers: ReadonlySet<number> }[]
}

const BATCH_SIZE = 200

/** Indexes the texts as the service does. */
async function indexTexts({ language, texts }: TestSet): Promise<SearchIndex> {
  const index = new SearchIndex([language])
  for (let at = 0; at < texts.length; at += BATCH_SIZE) {
    const rows = await svc.services.sql(listWords, [language, texts.slice(at, at + BATCH_SIZE)])
    for (const [row, { words, counts }] of rows.entries())
      index.add(at + row, language, [words.flatMap((word, place) => [word, counts[place] ?? 1])])
  }
  return index
}

/** Returns nDCG@10, and the part of the questions with an answer among the first five. */
async function rank(set: TestSet): Promise<{ gain: number; hits: number }> {
  const index = await indexTexts(set)
  const gains: number[] = []
  const hits: number[] = []
  for (const { question, answers } of set.questions) {
    const [found] = await svc.services.sql(listQueryWords, [[set.language], question])
    const words = found?.words.flatMap((word) => [word, 1]) ?? []
    const ranks = index
      .search([{ language: set.language, words }], 10)
      .flatMap(({ fileId }, at) => (answers.has(fileId) ? [at] : []))
    const best = Array.from({ length: Math.min(10, answers.size) }, (_, at) => computeDiscount(at))
    const sum = (values: readonly number[]) => values.reduce((one, other) => one + other, 0)
    gains.push(sum(ranks.map(computeDiscount)) / sum(best))
    hits.push(Number(ranks.some((at) => at < 5)))
  }
  return { gain: average(gains), hits: average(hits) }
}

const oneLine = (text: string) => text.replaceAll(/\s+/g, ' ').trim()

async function readCranfield(): Promise<TestSet> {
  const documents = await read('cran.all.1400.xml')
  const judgements = (await read('cranqrel.trec.txt')).trim().split('\n')
  const texts = [...documents.matchAll(/<text>(.*?)<\/text>/gs)].map(([, text = '']) => oneLine(text))
  const titles = [...(await read('cran.qry.xml')).matchAll(/<title>(.*?)<\/title>/gs)]
  // The numbers in the file of questions have gaps; judgements count questions from 1.
  const questions = titles.map(([, title = ''], at) => {
    const answers = judgements.flatMap((line) => {
      const [question, , document, grade] = line.split(' ').map(Number)
      return question === at + 1 && Number(grade) > 0 ? [Number(document) - 1] : []
    })
    return { question: oneLine(title), answers: new Set(answers) }
  })
  return { language: 'english', texts, questions: questions.filter(({ answers }) => answers.size > 0) }
}

interface Xquad {
  data: { paragraphs: { context: string; qas: { question: string }[] }[] }[]
}

async function readXquad(name: string, language: TestSet['language'], step: number): Promise<TestSet> {
  const { data } = JSON.parse(await read(name)) as Xquad
  const paragraphs = data.flatMap((article) => article.paragraphs)
  const questions = paragraphs.flatMap(({ qas }, at) =>
    qas.map(({ question }) => ({ question, answers: new Set([at]) })),
  )
  const texts = paragraphs.map(({ context }) => context)
  return { language, texts, questions: questions.filter((_, at) => at % step === 0) }
}

test('the ranking of Cranfield is not below its floor', async () => {
  const { gain } = await rank(await readCranfield())
  process.stdout.write(`Cranfield: nDCG@10 ${gain.toFixed(3)}\n`)
  expect(gain).toBeGreaterThanOrEqual(0.361)
})

test('the ranking of XQuAD in two languages is not below its floor', async () => {
  const english = await rank(await readXquad('xquad.en.json', 'english', 4))
  const german = await rank(await readXquad('xquad.de.json', 'german', 1))
  for (const [name, { gain, hits }] of Object.entries({ english, german }))
    process.stdout.write(`XQuAD, ${name}: nDCG@10 ${gain.toFixed(3)}, hit@5 ${hits.toFixed(3)}\n`)
  expect(english.gain).toBeGreaterThanOrEqual(0.941)
  expect(english.hits).toBeGreaterThanOrEqual(0.957)
  expect(german.gain).toBeGreaterThanOrEqual(0.921)
  expect(german.hits).toBeGreaterThanOrEqual(0.962)
})
