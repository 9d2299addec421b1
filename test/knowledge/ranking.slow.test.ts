import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startApp } from '../kit/app.ts'
import { addKnowledge } from '../kit/assistants/knowledge.ts'
import { shareResource } from '../kit/share-resource.ts'
import { average, computeDiscount } from './gains.ts'

const svc = shareResource(startApp)

const read = (name: string) => readFile(join(import.meta.dirname, name), 'utf8')

interface Question {
  language: 'de' | 'en'
  question: string
  section: string
}

/** The ranking reached two hundredths more when it was written: less than this is a fault. */
const floors = {
  en: { gain: 0.98, hits: 0.98 },
  de: { gain: 0.91, hits: 0.98 },
}

/** Discounted gain of a ranking in which one passage is right. */
const computeGain = (rank: number): number => (rank < 0 ? 0 : computeDiscount(rank))

test('the ranking of two handbooks in two languages is not below its floor', async () => {
  const owner = await addKnowledge(svc)
  for (const name of ['handbook.en.md', 'handbook.de.md']) await owner.upload(name, await read(name))
  await owner.untilRead()
  const questions = (await read('questions.jsonl'))
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Question)
  const ranks: { language: Question['language']; rank: number }[] = []
  for (const { language, question, section } of questions) {
    const found = await owner.search(question, 10)
    const path = `handbook.${language}.md`
    // A passage of short neighbours has the headings of its sections in its text.
    const rank = found.findIndex(
      ({ file, headings, text }) =>
        file.path === path && (headings.at(-1) === section || text.includes(`## ${section}\n`)),
    )
    ranks.push({ language, rank })
  }
  const results = Object.fromEntries(
    Object.entries(Object.groupBy(ranks, ({ language }) => language)).map(([language, asked]) => {
      const gain = average(asked.map(({ rank }) => computeGain(rank)))
      return [language, { gain, hits: average(asked.map(({ rank }) => Number(rank >= 0 && rank < 5))) }]
    }),
  )
  for (const language of ['en', 'de'] as const) {
    expect(results[language]?.gain, language).toBeGreaterThanOrEqual(floors[language].gain)
    expect(results[language]?.hits, language).toBeGreaterThanOrEqual(floors[language].hits)
  }
})
