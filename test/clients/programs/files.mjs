import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { z } from 'zod'

export const { SVC_URL: url, SVC_TOKEN: apiKey, SVC_MODEL: model, SVC_PROMPT: prompt } = process.env
export const baseURL = `${url}/v1`

const file = z.object({ file: z.string() })

/** The tools of the task, which each program declares in the words of its library. */
export const tools = [
  { name: 'read_file', description: 'Reads a file.', schema: file, run: ({ file }) => readFile(file, 'utf8') },
  {
    name: 'write_file',
    description: 'Writes a file.',
    schema: file.extend({ text: z.string() }),
    run: async ({ file, text }) => (await writeFile(file, text), 'written'),
  },
  {
    name: 'copy_file',
    description: 'Copies a file.',
    schema: file.extend({ to: z.string() }),
    run: async ({ file, to }) => (await copyFile(file, to), 'copied'),
  },
]
