import { expect, test } from 'vitest'
import { cleanTitle, numberTitle } from '../../facades/web/app/chat/title-text.ts'

test.for([
  'Autumn walks',
  '"Autumn walks"',
  '“Autumn walks”',
  '«Autumn walks».',
  '**Title:** Autumn walks',
  '**Titel:** „Autumn walks“',
  '# Autumn walks',
  '{"title": "Autumn walks"}',
  '```json\n{"title": "**Autumn walks**"}\n```',
  '```\nAutumn walks\n```',
  'Here is a title: Autumn walks',
  'Autumn walks\n\nI chose it because they walk in autumn.',
  '<think>They walk.\nIn autumn.</think>\n\nAutumn walks',
])('a title is what is left of %j', (answer) => {
  expect(cleanTitle(answer)).toBe('Autumn walks')
})

test('no title is longer than 120 characters, and one may be empty', () => {
  expect(cleanTitle('🍂'.repeat(500))).toBe('🍂'.repeat(120))
  expect(cleanTitle('<think>Hm.</think> ""')).toBe('')
})

test('a title that another chat has gets the next free number', () => {
  expect(numberTitle('Walks', new Set())).toBe('Walks')
  expect(numberTitle('Walks', new Set(['Walks', 'Walks (2)']))).toBe('Walks (3)')
})
