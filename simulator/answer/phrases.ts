import type { SeenImage } from '../chat/chat-request.js';

/** The fixed wording of composed answers in one language. */
export interface Phrases {
  greeting(question: string): string;
  thinking(question: string, passages: number, quotes: number): string;
  images(images: readonly SeenImage[]): string;
  quotes: string;
  summary: string;
  toolResult: string;
  nothingFound: string;
  explanation: string;
}

export const ENGLISH: Phrases = {
  greeting: (question) => (question ? `Hello! You asked: “${question}”` : 'Hello!'),
  thinking: (question, passages, quotes) =>
    `The question is “${question}”. ` +
    `Passages to look at: ${passages}; sentences in them that fit: ${quotes}. `,
  images: (images) =>
    `I received ${images.length === 1 ? '1 image' : `${images.length} images`}: ${describe(images)}.`,
  quotes: 'The material provided says:',
  summary: 'The main points of the text are:',
  toolResult: 'The tool returned:',
  nothingFound: 'The material provided has no sentence that fits this question.',
  explanation:
    'I am the offline demo model. I run without a network and without a real language model: ' +
    'I quote the passages that come with a question, summarise long text, name the images sent ' +
    'to me and call tools when told to. Configure a real model to get real answers.',
};

export const CHINESE: Phrases = {
  greeting: (question) => `你好！你的问题是：“${question}”`,
  thinking: (question, passages, quotes) =>
    `问题是“${question}”。我有 ${passages} 段材料可以参考，其中 ${quotes} 个句子与问题相关。`,
  images: (images) => `我收到了 ${images.length} 张图片：${describe(images)}。`,
  quotes: '根据所提供的材料：',
  summary: '这段文字的要点是：',
  toolResult: '工具返回了：',
  nothingFound: '所提供的材料中没有与这个问题相关的句子。',
  explanation:
    '我是离线演示模型，不需要网络，也不是真正的语言模型：我会引用随问题提供的材料，概括较长的文字，' +
    '说明收到的图片，并按要求调用工具。请配置真实的模型以获得真正的回答。',
};

function describe(images: readonly SeenImage[]): string {
  return images
    .map((image) =>
      image.bytes === undefined ? image.mime : `${image.mime}, ${image.bytes} bytes`,
    )
    .join('; ');
}
