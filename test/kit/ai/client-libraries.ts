import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import Anthropic from '@anthropic-ai/sdk'
import { ChatOpenAI } from '@langchain/openai'
import { generateText, type LanguageModel, streamText } from 'ai'
import OpenAI from 'openai'

const model = 'mock-1'
const content = 'How do you do?'
const messages = [{ role: 'user' as const, content }]

/** A client library of programs, behind one interface. */
interface ClientLibrary {
  /** Returns the text of a whole answer. */
  sendQuestion(signal?: AbortSignal): PromiseLike<string>
  /** Yields the pieces of an answer. */
  stream(signal?: AbortSignal): AsyncIterable<string>
}

export interface Access {
  apiKey: string
  /** URL of the service. */
  url: string
}

function createOpenAiClient({ apiKey, url }: Access): ClientLibrary {
  const client = new OpenAI({ apiKey, baseURL: `${url}/v1` })
  return {
    async sendQuestion(signal) {
      const { choices } = await client.chat.completions.create({ model, messages }, { signal })
      return choices[0]?.message.content ?? ''
    },
    async *stream(signal) {
      const chunks = await client.chat.completions.create({ model, messages, stream: true }, { signal })
      for await (const { choices } of chunks) yield choices[0]?.delta.content ?? ''
    },
  }
}

function createAnthropicClient({ apiKey, url: baseURL }: Access): ClientLibrary {
  const client = new Anthropic({ apiKey, baseURL })
  const question = { model, max_tokens: 100, messages }
  return {
    async sendQuestion(signal) {
      const { content } = await client.messages.create(question, { signal })
      return content.map((block) => (block.type === 'text' ? block.text : '')).join('')
    },
    async *stream(signal) {
      for await (const event of client.messages.stream(question, { signal }))
        if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') yield event.delta.text
    },
  }
}

function createLangChainClient({ apiKey, url }: Access): ClientLibrary {
  const chat = new ChatOpenAI({ apiKey, model, configuration: { baseURL: `${url}/v1` } })
  return {
    sendQuestion: async (signal) => (await chat.invoke(content, { ...(signal && { signal }) })).text,
    async *stream(signal) {
      for await (const { text } of await chat.stream(content, { ...(signal && { signal }) })) yield text
    },
  }
}

const createAiSdkClient =
  (modelOf: (access: { apiKey: string; baseURL: string }) => LanguageModel) =>
  ({ apiKey, url }: Access): ClientLibrary => {
    const question = (signal?: AbortSignal) => ({
      model: modelOf({ apiKey, baseURL: `${url}/v1` }),
      prompt: content,
      maxOutputTokens: 100,
      ...(signal && { abortSignal: signal }),
    })
    return {
      sendQuestion: async (signal) => (await generateText(question(signal))).text,
      async *stream(signal) {
        const failures: unknown[] = []
        const onError = ({ error }: { error: unknown }) => void failures.push(error)
        yield* streamText({ ...question(signal), onError }).textStream
        if (failures.length > 0) throw failures[0]
      },
    }
  }

/** Unmodified clients, with the retries that they usually make. */
export const clientLibraries = {
  'the client of OpenAI': createOpenAiClient,
  'the client of Anthropic': createAnthropicClient,
  LangChain: createLangChainClient,
  'the AI SDK for OpenAI': createAiSdkClient((access) => createOpenAI(access).chat(model)),
  'the AI SDK for responses': createAiSdkClient((access) => createOpenAI(access)(model)),
  'the AI SDK for compatible servers': createAiSdkClient((access) =>
    createOpenAICompatible({ name: 'svc', ...access })(model),
  ),
  'the AI SDK for Anthropic': createAiSdkClient((access) => createAnthropic(access)(model)),
} satisfies Record<string, (access: Access) => ClientLibrary>

export type ClientName = keyof typeof clientLibraries
export const clientNames = Object.keys(clientLibraries) as ClientName[]

/** Returns the error of a request, or nothing if it succeeds. */
export const catchFailure = (work: PromiseLike<unknown>) =>
  work.then(
    () => undefined,
    (error: { status?: number; statusCode?: number }) => error,
  )
