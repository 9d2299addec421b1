import { z } from 'zod'
import type { FunctionTool } from '../../ports/ai/tools.ts'
import type { KnowledgeReader } from './knowledge-reader.ts'

/** Characters of a question. */
const MAX_QUERY = 2000
const MAX_PATH = 512
const MAX_OFFSET = 2_147_483_647
const MAX_PAGE = 1000

const path = z.string().min(1).max(MAX_PATH)

/** The tools by which a model reads the knowledge of its assistant. They need no approval, as they read nothing else. */
export const createKnowledgeTools = (reader: KnowledgeReader): FunctionTool[] => [
  defineTool({
    name: 'knowledge_search',
    description:
      'Search the files of the assistant. Answers with the numbered passages that have the words of the query, the best first.',
    input: z.strictObject({
      query: z.string().trim().min(1).max(MAX_QUERY).describe('Words that the passages may have, or a question.'),
      file: path.optional().describe('The path of a file, to search in this file alone.'),
    }),
    run: ({ query, file }) => reader.search(query, file),
  }),
  defineTool({
    name: 'knowledge_read',
    description:
      'Read a file of the assistant from its beginning, or from a place in it. Answers with numbered passages. For questions about a file as a whole.',
    input: z.strictObject({
      file: path.describe('The path of the file.'),
      from: z.int().min(0).max(MAX_OFFSET).optional().describe('The place where an earlier reading ended.'),
    }),
    run: ({ file, from = 0 }) => reader.read(file, from),
  }),
  defineTool({
    name: 'knowledge_list',
    description: 'List the files of the assistant by their paths.',
    input: z.strictObject({ page: z.int().min(1).max(MAX_PAGE).optional() }),
    run: ({ page = 1 }) => reader.list(page),
  }),
]

const toolNames: readonly string[] = ['knowledge_search', 'knowledge_read', 'knowledge_list']

/** Returns true for the name of a tool by which an assistant reads its knowledge, where no caller has taken it. */
export const isKnowledgeTool = (name: string): boolean => toolNames.includes(name)

/** Keeps the type of the arguments, which a list of tools does not have. */
const defineTool = <Input extends z.ZodType>(tool: FunctionTool<Input>): FunctionTool => tool as unknown as FunctionTool
