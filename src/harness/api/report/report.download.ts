import type { Response } from 'express';
import { setEnvelopeCode } from '../../../platform/error/index.js';
import { envelope } from '../../../platform/http/index.js';
import { reportMarkdown } from './report.markdown.js';
import type { RunReportView } from './report.view.js';

/** Writes the report in the format that was asked for; Markdown as a file, which no browser shows as a page. */
export function sendReport(
  response: Response,
  report: RunReportView,
  format: string | undefined,
): void {
  const answer = envelope(report);
  setEnvelopeCode(response, answer.code);
  response.status(200).set('Cache-Control', 'private, no-store');
  if (format !== 'markdown') {
    response.json(answer);
    return;
  }
  response.attachment(`run-${report.runId}.md`);
  response.set({
    'Content-Type': 'text/markdown; charset=utf-8',
    'Content-Security-Policy': "sandbox; default-src 'none'",
    'X-Content-Type-Options': 'nosniff',
  });
  response.send(reportMarkdown(report));
}
