import { expect, test } from 'vitest'
import { findHistoryStart, selectHistory } from '../../facades/web/app/chat/history.ts'

const buildPath = (length: number) => Array.from({ length }, (_, index) => ({ number: index + 1 }))

test('up to 200 messages are sent whole', () => {
  expect(selectHistory(buildPath(200))).toHaveLength(200)
})

test('a longer history begins with the same message for 50 messages', () => {
  const starts = Array.from({ length: 150 }, (_, index) => selectHistory(buildPath(201 + index))[0]?.number)

  expect(new Set(starts)).toEqual(new Set([50, 100, 150, 200]))
  expect(starts.slice(0, 49)).toEqual(Array.from({ length: 49 }, () => 50))
})

test('a longer history ends with the last message, and has at most 200', () => {
  for (const length of [201, 249, 250, 777]) {
    const history = selectHistory(buildPath(length))
    expect(history.at(-1)).toEqual({ number: length })
    expect(history.length).toBeGreaterThan(149)
    expect(history.length).toBeLessThanOrEqual(200)
  }
})

test('a history that is loaded in part begins where the whole one does', () => {
  expect(selectHistory(buildPath(333).slice(-201))).toEqual(selectHistory(buildPath(333)))
})

test('the page says from where the next question is sent with its history', () => {
  expect(findHistoryStart(buildPath(199))).toBeUndefined()
  for (const length of [200, 249, 333]) {
    const [first] = selectHistory(buildPath(length + 1))
    expect(findHistoryStart(buildPath(length))).toBe(first?.number)
    expect(findHistoryStart(buildPath(length).slice(-200))).toBe(first?.number)
  }
  expect(findHistoryStart(buildPath(333).slice(-150))).toBeUndefined()
})
