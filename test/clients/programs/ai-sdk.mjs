import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, stepCountIs, streamText, tool } from 'ai'
import { copyFile, writeFile } from 'node:fs/promises'
import { apiKey, baseURL, model, prompt, tools } from './files.mjs'

const settings = {
  prompt,
  tools: Object.fromEntries(
    tools.map(({ name, description, schema, run }) => [
      name,
      tool({ description, inputSchema: schema, execute: run }),
    ]),
  ),
  stopWhen: stepCountIs(8),
}
await copyFile('greeting.txt', 'before.txt')
const compatible = createOpenAICompatible({ name: 'svc', baseURL, apiKey })
console.log((await generateText({ ...settings, model: compatible(model) })).text)
await copyFile('before.txt', 'greeting.txt')
await writeFile('told.txt', '')
const openai = createOpenAI({ baseURL, apiKey })
console.log(await streamText({ ...settings, model: openai(model) }).text)
