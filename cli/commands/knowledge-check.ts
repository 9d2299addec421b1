import { readFile, stat } from 'node:fs/promises'
import { defineCommand } from 'citty'
import { z } from 'zod'
import { handle } from '../../routers/assistants/content.ts'
import { filePath } from '../../routers/assistants/knowledge/upload.ts'
import type { CoreService } from '../../server/core.ts'
import { type CommandContext, json } from '../command-context.ts'
import { parseFlag, parseOptionalFlag, typedNumber } from '../flag-values.ts'
import { formatProperties, formatTable } from '../output.ts'

const MAX_BYTES = 16 * 1024 * 1024
const MAX_QUESTIONS = 10_000

/** Passages that are looked at, the best first. */
const RANKED = 10

/** Passages among which the right one counts as found. */
const FOUND = 5

/** A question with the place that answers it, as a line of the file. */
const questionLine = z.strictObject({
  question: z.string().trim().min(1, 'must not be empty').max(2000),
  file: filePath,
  page: z.int().min(1).optional(),
  text: z.string().trim().min(1, 'must not be empty').max(2000).optional(),
})
type QuestionLine = z.output<typeof questionLine>

export const checkCommand = (context: CommandContext) =>
  defineCommand({
    meta: {
      description:
        'Ask the knowledge of an assistant questions whose answers are known, and tell how often they are found. Its owner pays for the vectors of the questions.',
    },
    args: {
      questions: {
        type: 'positional',
        required: true,
        description: 'The file: on each line an object with question, file and, if wanted, page and text, in JSON.',
      },
      assistant: {
        type: 'string',
        required: true,
        description: 'The handle of the assistant that answers with the knowledge.',
      },
      floor: {
        type: 'string',
        description: `The exit code is 1 if fewer questions find their answer among the first ${FOUND} passages: from 0 to 1.`,
      },
      json,
    },
    async run({ args }) {
      const { floor } = parseOptionalFlag('floor', typedNumber.pipe(z.number().min(0).max(1)), args.floor, '--floor')
      const assistant = parseFlag(handle, args.assistant, '--assistant')
      const questions = await readQuestions(args.questions)
      const record = await context.open((core) => checkKnowledge(core, assistant, questions))
      context.print({ record, text: formatCheck(record) })
      context.hasFailed = floor !== undefined && record.hit5 < floor
    },
  })

async function readQuestions(path: string): Promise<QuestionLine[]> {
  const { size } = await stat(path)
  if (size > MAX_BYTES) throw new Error(`${path} has more than ${MAX_BYTES} bytes.`)
  const lines = (await readFile(path, 'utf8')).split('\n')
  const questions = lines.flatMap((line, at) =>
    line.trim() === '' ? [] : [parseLine(line, `${path}, line ${at + 1}`)],
  )
  if (questions.length === 0) throw new Error(`${path} has no question.`)
  if (questions.length > MAX_QUESTIONS) throw new Error(`${path} has more than ${MAX_QUESTIONS} questions.`)
  return questions
}

function parseLine(line: string, place: string): QuestionLine {
  const parsed = questionLine.safeParse(parseJson(line, place))
  if (parsed.success) return parsed.data
  const sentences = parsed.error.issues.map(({ path, message }) => `${place}: ${[...path, message].join(' ')}.`)
  throw new Error(sentences.join('\n'))
}

function parseJson(line: string, place: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    throw new Error(`${place} is no JSON.`)
  }
}

/** A question whose answer is not among the first passages. */
interface Miss {
  question: string
  file: string
  /** The place of the right passage, counted from 1; null if it is not among those looked at. */
  place: number | null
  /** The file of the first passage; null if nothing was found. */
  first: string | null
}

interface CheckRecord {
  knowledge: string
  questions: number
  /** Parts of the questions whose answer is the first passage, and among the first five. */
  hit1: number
  hit5: number
  /** Mean of the discounted gains of the first right passages among the first ten: 1 for the first place, 0.63 for the second. */
  ndcg10: number
  /** Mean place of the right passages that were found, counted from 1; null if none was. */
  meanPlace: number | null
  /** Questions that were searched by words alone though there is an embedding model. */
  byWordsAlone: number
  misses: Miss[]
}

async function checkKnowledge(
  { host }: CoreService,
  handle: string,
  questions: readonly QuestionLine[],
): Promise<CheckRecord> {
  const places: (number | null)[] = []
  const misses: Miss[] = []
  let byWordsAlone = 0
  let knowledge = ''
  for (const line of questions) {
    const { question, file } = line
    const found = await host.knowledge.searchFor({ handle, query: question, limit: RANKED })
    knowledge = found.knowledge
    if (found.isByWordsAlone) byWordsAlone++
    const at = found.hits.findIndex((hit) => isRight(line, hit))
    const place = at < 0 ? null : at + 1
    places.push(place)
    if (place === null || place > FOUND) misses.push({ question, file, place, first: found.hits[0]?.file.path ?? null })
  }
  const ranked = places.filter((place) => place !== null)
  const average = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / questions.length
  const computeHits = (most: number) => average(ranked.map((place) => Number(place <= most)))
  return {
    knowledge,
    questions: questions.length,
    hit1: computeHits(1),
    hit5: computeHits(FOUND),
    ndcg10: average(ranked.map((place) => 1 / Math.log2(place + 1))),
    meanPlace: ranked.length === 0 ? null : (average(ranked) * questions.length) / ranked.length,
    byWordsAlone,
    misses,
  }
}

type Hit = Awaited<ReturnType<CoreService['host']['knowledge']['searchFor']>>['hits'][number]

const isRight = ({ file, page, text }: QuestionLine, hit: Hit): boolean =>
  hit.file.path === file &&
  (page === undefined || hit.page === page) &&
  (text === undefined || normalize(hit.text).includes(normalize(text)))

const normalize = (text: string) => text.replaceAll(/\s+/g, ' ').toLowerCase()

/** Misses that are shown to people. */
const MAX_SHOWN = 20

function formatCheck({ misses, byWordsAlone, knowledge, questions, ...figures }: CheckRecord): string {
  const { hit1, hit5, ndcg10, meanPlace } = figures
  const head = formatProperties({
    knowledge,
    questions,
    'hit@1': hit1.toFixed(3),
    'hit@5': hit5.toFixed(3),
    'nDCG@10': ndcg10.toFixed(3),
    'mean place': meanPlace?.toFixed(2),
    ...(byWordsAlone > 0 && { 'searched by words alone': byWordsAlone }),
  })
  if (misses.length === 0) return `${head}\n\nEvery answer is among the first ${FOUND} passages.`
  const shown = misses.slice(0, MAX_SHOWN).map(({ question, file, place, first }) => ({ question, file, place, first }))
  const rest = misses.length > MAX_SHOWN ? [`And ${misses.length - MAX_SHOWN} more, which --json prints.`] : []
  return [head, `Not among the first ${FOUND}:\n${formatTable(shown, '')}`, ...rest].join('\n\n')
}
