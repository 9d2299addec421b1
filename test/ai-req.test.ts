import { describe, expect, test } from 'vitest'
import { startApp } from './app.ts'
import { answers, configFor, question, startProvider } from './provider.ts'

describe('POST /api/ai-req', () => {
  test('answers with the text of the model', async () => {
    await using provider = await startProvider(answers('Good day to you.'))
    await using config = await configFor(provider.url)
    await using svc = await startApp({ AI_CONFIG: config.file })
    const { token } = await svc.user()

    const response = await svc.send('POST', '/api/ai-req', { token, body: question('How do you do?') })

    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ success: true, content: { text: 'Good day to you.' } })
    expect(provider.asked).toMatchObject([
      {
        path: '/v1/chat/completions',
        body: { model: 'mock-1', messages: [{ role: 'user', content: 'How do you do?' }] },
      },
    ])
    expect(provider.asked[0]?.headers.authorization).toBe('Bearer provider-key')
  })

  test('names every missing field in plain English', async () => {
    await using svc = await startApp()
    const { token } = await svc.user()

    const response = await svc.send('POST', '/api/ai-req', { token, body: { payload: { messages: [{}] } } })

    expect(response.status).toBe(422)
    expect(await response.json()).toMatchObject({
      success: false,
      message: 'Validation Error',
      errors: {
        'payload.model': ['The payload.model field is required.'],
        'payload.messages.0.role': ['The payload.messages.0.role field is required.'],
        'payload.messages.0.content': ['The payload.messages.0.content field is required.'],
        'payload.messages.0.content.text': ['The payload.messages.0.content.text field is required.'],
      },
    })
  })
})
